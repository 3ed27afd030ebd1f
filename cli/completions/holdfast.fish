# fish completion for holdfast(1)

set -l commands run acquire renew release ls show jobs break deadlocks top serve doctor engines schema bench sim torture

# Anybody who can take a lock chooses its name. So no name is ever evaluated here: `holdfast ls --names`
# prints one printable name per line, and fish quotes what it inserts.
function __holdfast_names
    set -l words (commandline -opc)
    # In the environment, not in an argument, which others can see.
    set -lx HOLDFAST_URL $HOLDFAST_URL
    for i in (seq 2 (count $words))
        switch $words[$i]
            case --
                break
            case --on
                set HOLDFAST_URL $words[(math $i + 1)]
            case '--on=*'
                set HOLDFAST_URL (string replace -- --on= '' $words[$i])
        end
    end
    command holdfast ls --names 2>/dev/null </dev/null
end

# True behind the "--" of run: there the words are another command's.
function __holdfast_in_command
    set -l words (commandline -opc)
    contains -- run $words; and contains -- -- $words
end

complete -c holdfast -f
complete -c holdfast -n __holdfast_in_command -a '(__fish_complete_subcommand --fcs-skip=(contains -i -- -- (commandline -opc)))'

complete -c holdfast -n 'not __holdfast_in_command' -l on -x -d 'Where the locks are: a URL or @FILE'
complete -c holdfast -n 'not __holdfast_in_command' -l json -d 'Print JSON'
complete -c holdfast -n 'not __holdfast_in_command' -s v -l verbose -d 'Tell on standard error what happens'
complete -c holdfast -n 'not __holdfast_in_command' -l help -d 'Help and examples'
complete -c holdfast -n "not __fish_seen_subcommand_from $commands" -l version -d 'Print the version'

complete -c holdfast -n "not __fish_seen_subcommand_from $commands" -a run -d 'Run a command under a lock'
complete -c holdfast -n "not __fish_seen_subcommand_from $commands" -a acquire -d 'Take a lock and print a handle'
complete -c holdfast -n "not __fish_seen_subcommand_from $commands" -a renew -d 'Keep an acquired lock for another ttl'
complete -c holdfast -n "not __fish_seen_subcommand_from $commands" -a release -d 'Give back an acquired lock'
complete -c holdfast -n "not __fish_seen_subcommand_from $commands" -a ls -d 'List the locks that are held or waited for'
complete -c holdfast -n "not __fish_seen_subcommand_from $commands" -a show -d 'Show who holds a lock and who waits for it'
complete -c holdfast -n "not __fish_seen_subcommand_from $commands" -a jobs -d 'Show the last run of each job'
complete -c holdfast -n "not __fish_seen_subcommand_from $commands" -a break -d 'Take a lock away from its holder'
complete -c holdfast -n "not __fish_seen_subcommand_from $commands" -a deadlocks -d 'Find owners that wait for each other'
complete -c holdfast -n "not __fish_seen_subcommand_from $commands" -a top -d 'Watch locks in the terminal'
complete -c holdfast -n "not __fish_seen_subcommand_from $commands" -a serve -d 'Serve locks over HTTP, and a page that shows them'
complete -c holdfast -n "not __fish_seen_subcommand_from $commands" -a doctor -d 'Examine a server: product, settings, defects, guarantees'
complete -c holdfast -n "not __fish_seen_subcommand_from $commands" -a engines -d 'List the engines and what they guarantee'
complete -c holdfast -n "not __fish_seen_subcommand_from $commands" -a schema -d 'Print the statements that make the tables of an engine'
complete -c holdfast -n "not __fish_seen_subcommand_from $commands" -a bench -d 'Measure how fast locks are'
complete -c holdfast -n "not __fish_seen_subcommand_from $commands" -a sim -d 'Explore schedules of a simulated world'
complete -c holdfast -n "not __fish_seen_subcommand_from $commands" -a torture -d 'Inject faults into real servers, and judge'

set -l claim '__fish_seen_subcommand_from run acquire; and not __holdfast_in_command'
complete -c holdfast -n $claim -l ttl -x -a '10s 30s 2m 1h' -d 'How long the lock outlives a vanished holder'
complete -c holdfast -n $claim -l wait -x -a '500ms 10s 2m 1h' -d 'Wait at most so long'
complete -c holdfast -n $claim -s n -l no-wait -l nonblock -d 'Try once'
complete -c holdfast -n $claim -s w -l timeout -x -d 'Wait at most so many seconds'
complete -c holdfast -n $claim -s E -l conflict-exit-code -x -d 'Status if it is not free in time'
complete -c holdfast -n $claim -s x -l exclusive -d 'Alone'
complete -c holdfast -n $claim -l label -x -d 'What others see of this holder'
complete -c holdfast -n $claim -l owner -x -d 'Whose locks these are'
complete -c holdfast -n $claim -l quiet -d 'Do not tell whom we wait for'
complete -c holdfast -n $claim -l otlp -x -d 'Where traces go, by OTLP over HTTP'
complete -c holdfast -n $claim -s s -l shared -d 'Together with other shared holders'
complete -c holdfast -n $claim -l permits -x -d 'One of N permits'
complete -c holdfast -n '__fish_seen_subcommand_from run; and not __holdfast_in_command' -l isolate -d 'In a pid namespace of its own'
complete -c holdfast -n '__fish_seen_subcommand_from run; and not __holdfast_in_command' -l reenter -d 'Run under a lock that a run above holds'
complete -c holdfast -n '__fish_seen_subcommand_from run; and not __holdfast_in_command' -l once-per -x -a '15m 1h 6h 1d 1w 1mo' -d 'Only if nobody has done it in this period'
complete -c holdfast -n '__fish_seen_subcommand_from run; and not __holdfast_in_command' -l at -x -d 'When periods begin'
complete -c holdfast -n '__fish_seen_subcommand_from run; and not __holdfast_in_command' -l zone -x -a 'UTC Europe/Berlin Europe/London America/New_York Asia/Tokyo' -d 'Whose local time'
complete -c holdfast -n '__fish_seen_subcommand_from run; and not __holdfast_in_command' -l sliding -d 'The period begins with the last run'
complete -c holdfast -n '__fish_seen_subcommand_from run; and not __holdfast_in_command' -l once-even-if-failed -d 'A run that failed counts as done'
complete -c holdfast -n '__fish_seen_subcommand_from run; and not __holdfast_in_command' -l keep -x -a '30s 2m 1h' -d 'Hold the lock at least so long'
complete -c holdfast -n '__fish_seen_subcommand_from run; and not __holdfast_in_command' -l jitter -x -a '10s 30s 2m' -d 'Begin after a random pause'
complete -c holdfast -n '__fish_seen_subcommand_from jobs' -l forget -x -d 'Remove the record of a job'
complete -c holdfast -n '__fish_seen_subcommand_from run; and not __holdfast_in_command' -l notify -d 'Tell the service manager when the lock is held'
complete -c holdfast -n '__fish_seen_subcommand_from run; and not __holdfast_in_command' -s c -l command -x -d 'The command as one text'
complete -c holdfast -n '__fish_seen_subcommand_from run acquire show break ls; and not __holdfast_in_command' -a '(__holdfast_names)'
complete -c holdfast -n '__fish_seen_subcommand_from ls; and not __holdfast_in_command' -l names -d 'Names only, one per line'
complete -c holdfast -n '__fish_seen_subcommand_from top' -l interval -x -a '500ms 1s 5s' -d 'How often to look'
complete -c holdfast -n '__fish_seen_subcommand_from top' -l sort -x -a 'waiters wait age name' -d 'What comes first'
complete -c holdfast -n '__fish_seen_subcommand_from top' -l filter -x -d 'Only locks with this in a name, label, owner or token'
complete -c holdfast -n '__fish_seen_subcommand_from top' -l engine -x -d 'Only locks of this engine'
complete -c holdfast -n '__fish_seen_subcommand_from top' -l count -x -d 'Print so many looks'
complete -c holdfast -n '__fish_seen_subcommand_from top' -l read-only -d 'Break nothing'
complete -c holdfast -n '__fish_seen_subcommand_from top' -l once -d 'One look, without a terminal'
complete -c holdfast -n '__fish_seen_subcommand_from serve' -l listen -x -a '127.0.0.1:7272 unix:/run/holdfast/http.sock' -d 'Where to listen'
complete -c holdfast -n '__fish_seen_subcommand_from serve' -l tls-cert -r -F -d 'Certificate chain'
complete -c holdfast -n '__fish_seen_subcommand_from serve' -l tls-key -r -F -d 'Its key'
complete -c holdfast -n '__fish_seen_subcommand_from serve' -l token-file -r -F -d 'The token that requests must carry'
complete -c holdfast -n '__fish_seen_subcommand_from serve' -l host -x -d 'A further name of the daemon'
complete -c holdfast -n '__fish_seen_subcommand_from serve' -l otlp -x -a 'http://127.0.0.1:4318' -d 'Where traces go'
complete -c holdfast -n '__fish_seen_subcommand_from serve' -l read-only -d 'Take and break no locks'
complete -c holdfast -n '__fish_seen_subcommand_from break' -l token -x -d 'The token of the holder'

complete -c holdfast -n '__fish_seen_subcommand_from bench' -l workers -x -d 'Blocking threads'
complete -c holdfast -n '__fish_seen_subcommand_from bench' -l in-flight -x -d 'Asynchronous claims'
complete -c holdfast -n '__fish_seen_subcommand_from bench' -l processes -x -d 'Processes'
complete -c holdfast -n '__fish_seen_subcommand_from bench' -l names -x -d 'Names to contend for'
complete -c holdfast -n '__fish_seen_subcommand_from bench' -l seconds -x -d 'How long to measure'
complete -c holdfast -n '__fish_seen_subcommand_from bench' -l mode -x -a 'exclusive shared permits' -d 'How to lock'
complete -c holdfast -n '__fish_seen_subcommand_from bench' -l permits -x -d 'Permits per name'
complete -c holdfast -n '__fish_seen_subcommand_from bench' -l hold -x -a '1ms 10ms' -d 'How long to hold'
complete -c holdfast -n '__fish_seen_subcommand_from bench' -l ttl -x -a '10s 30s' -d 'The ttl of the locks'

complete -c holdfast -n '__fish_seen_subcommand_from sim' -l minutes -x -d 'How long, in all'
complete -c holdfast -n '__fish_seen_subcommand_from sim' -l schedules -x -d 'Schedules of each workload'
complete -c holdfast -n '__fish_seen_subcommand_from sim' -l seed -x -d 'The first schedule'
complete -c holdfast -n '__fish_seen_subcommand_from sim' -l threads -x -d 'Threads'
complete -c holdfast -n '__fish_seen_subcommand_from sim' -l replay -x -d 'Show one schedule'
complete -c holdfast -n '__fish_seen_subcommand_from sim' -l mutants -d 'Is each known mistake caught'
complete -c holdfast -n '__fish_seen_subcommand_from sim' -l list -d 'The workloads'
complete -c holdfast -n '__fish_seen_subcommand_from sim' -l marks -d 'How often each thing happened'
complete -c holdfast -n '__fish_seen_subcommand_from sim' -f -a 'lease redis redis-amnesia redis-replica memcached session sql redlock redlock-short'
complete -c holdfast -n '__fish_seen_subcommand_from torture' -l all -d 'Every scenario on every engine'
complete -c holdfast -n '__fish_seen_subcommand_from torture' -l scenario -x -d 'Only these scenarios'
complete -c holdfast -n '__fish_seen_subcommand_from torture' -l engine -x -a 'sqlite redis redlock memcached zookeeper etcd postgres postgres-advisory mysql mysql-named' -d 'Only these engines'
complete -c holdfast -n '__fish_seen_subcommand_from torture' -l server -x -d 'Another version of a server'
complete -c holdfast -n '__fish_seen_subcommand_from torture' -l repeat -x -d 'Runs of each experiment'
complete -c holdfast -n '__fish_seen_subcommand_from torture' -l jobs -x -d 'Runs at the same time'
complete -c holdfast -n '__fish_seen_subcommand_from torture' -l pairs -d 'Every two faults together'
complete -c holdfast -n '__fish_seen_subcommand_from torture' -l fault -x -a 'pause kill waiter silent reset reply memory sessions restart empty backup ahead back disk still failover' -d 'Only pairs of these faults'
complete -c holdfast -n '__fish_seen_subcommand_from torture' -l random -d 'Random faults instead of scenarios'
complete -c holdfast -n '__fish_seen_subcommand_from torture' -l seed -x -d 'Which random faults'
complete -c holdfast -n '__fish_seen_subcommand_from torture' -l duration -x -a '20s 1m' -d 'Length of a random run'
complete -c holdfast -n '__fish_seen_subcommand_from torture' -l report -r -d 'Write a page with verdicts and pictures'
complete -c holdfast -n '__fish_seen_subcommand_from torture' -l markdown -r -d 'Write the table of verdicts'
complete -c holdfast -n '__fish_seen_subcommand_from torture' -l svg -r -d 'Write the picture of the most telling run'
complete -c holdfast -n '__fish_seen_subcommand_from torture' -l history -r -d 'Write its history'
complete -c holdfast -n '__fish_seen_subcommand_from torture' -l list -d 'List the scenarios'
