#compdef holdfast
# zsh completion for holdfast(1)

# Anybody who can take a lock chooses its name. So no name is ever evaluated here: no eval, no
# _call_program (which is one), no _describe (to which a colon has a meaning). `holdfast ls --names`
# prints one printable name per line, and compadd quotes what it inserts.
_holdfast_names() {
  local -a names
  local url=${opt_args[--on]:-$on}
  # _arguments escapes colons; (Q) takes the quotes off, and expands nothing.
  url=${(Q)url//\\:/:}
  # In the environment, not in an argument, which others can see.
  [[ -n $url ]] && local -x HOLDFAST_URL=$url
  names=("${(@f)$(command holdfast ls --names 2>/dev/null </dev/null)}")
  names=("${(@)names:#}")
  local expl
  _wanted names expl 'lock' compadd -a names
}

_holdfast() {
  local context state state_descr line curcontext=$curcontext
  typeset -A opt_args
  local -a common claim once
  common=(
    '--on=[where the locks are]:URL or @FILE:(sqlite\:///)'
    '--json[print JSON]'
    {--verbose,-v}'[tell on standard error what happens]'
    '--help[help and examples]'
  )
  claim=(
    '--ttl[how long the lock outlives a vanished holder]:duration:(10s 30s 2m 1h)'
    '(--no-wait)--wait[wait at most so long]:duration:(500ms 10s 2m 1h)'
    {--timeout,-w}'[wait at most so many seconds]:seconds:'
    '(--wait -n)'{--no-wait,--nonblock,-n}'[try once]'
    {--conflict-exit-code,-E}'[status if it is not free in time]:status:'
    '(--permits)'{--shared,-s}'[together with other shared holders]'
    {--exclusive,-x}'[alone]'
    '--label[what others see of this holder]:text:'
    '--owner[whose locks these are]:owner:'
    '--quiet[do not tell whom we wait for]'
    '--otlp=[where traces go, by OTLP over HTTP]:URL:(http\://127.0.0.1\:4318)'
    '(--shared)--permits[one of N permits]:N:'
  )
  once=(
    '--once-per[only if nobody has done it in this period]:period:(15m 1h 6h 1d 1w 1mo)'
    '(--sliding)--at[when periods begin]:HH\:MM:'
    '(--sliding)--zone[whose local time]:zone:(UTC Europe/Berlin Europe/London America/New_York Asia/Tokyo)'
    '(--at --zone)--sliding[the period begins with the last run]'
    '--once-even-if-failed[a run that failed counts as done]'
    '--keep[hold the lock at least so long]:duration:(30s 2m 1h)'
    '--jitter[begin after a random pause]:duration:(10s 30s 2m)'
  )

  _arguments -C $common '--version[print the version]' '1: :->command' '*:: :->argument'
  local on=${opt_args[--on]}
  case $state in
    command)
      local -a commands
      commands=(
        'run:run a command under a lock'
        'acquire:take a lock and print a handle'
        'renew:keep an acquired lock for another ttl'
        'release:give back an acquired lock'
        'ls:list the locks that are held or waited for'
        'jobs:show the last run of each job'
        'show:show who holds a lock and who waits for it'
        'break:take a lock away from its holder'
        'deadlocks:find owners that wait for each other'
        'top:watch locks in the terminal'
        'serve:serve locks over HTTP, and a page that shows them'
        'doctor:examine a server\: product, settings, defects, guarantees'
        'engines:list the engines and what they guarantee'
        'schema:print the statements that make the tables of an engine'
        'bench:measure how fast locks are'
        'sim:explore schedules of a simulated world'
        'torture:inject faults into real servers, and judge'
      )
      _describe -t commands 'command' commands
      ;;
    argument)
      case $line[1] in
        run)
          local separator=${words[(i)--]}
          if (( separator < CURRENT )); then
            shift $separator words
            (( CURRENT -= separator ))
            _normal
          else
            _arguments $common $claim '--isolate[in a pid namespace of its own]' '--reenter[run under a lock that a run above holds]' \
              '--notify[tell the service manager when the lock is held]' $once \
              {--command,-c}'[the command as one text]:text:' '*:lock:_holdfast_names'
          fi
          ;;
        acquire) _arguments $common $claim '*:lock:_holdfast_names' ;;
        renew | release) _arguments $common '1:handle (- reads it from the input):' ;;
        ls) _arguments $common '--names[names only, one per line]' '1:prefix:_holdfast_names' ;;
        jobs) _arguments $common '(1)--forget[remove the record of a job]:job:' '(--forget)1:prefix:' ;;
        show) _arguments $common '1:lock:_holdfast_names' ;;
        break) _arguments $common '--token[the token of the holder]:T:' '1:lock:_holdfast_names' ;;
        deadlocks) _arguments $common ;;
        top)
          _arguments $common '--interval[how often to look]:duration:(500ms 1s 5s)' \
            '--sort[what comes first]:order:(waiters wait age name)' '(--count)--once[print one look]' \
            '--filter[only locks with this in a name, label, owner or token]:text:' '--engine[only locks of this engine]:name:' \
            '(--once)--count[print so many looks]:N:' '--read-only[break nothing]'
          ;;
        serve)
          _arguments $common '--listen[where to listen]:address\:port or unix\:path:(127.0.0.1\:7272 unix\:/run/holdfast/http.sock)' \
            '--tls-cert[certificate chain]:file:_files' '--tls-key[its key]:file:_files' \
            '--token-file[the token that requests must carry]:file:_files' \
            '*--host[a further name of the daemon]:name:' '--read-only[take and break no locks]' \
            '--otlp[where traces go]:URL:(http\://127.0.0.1\:4318)'
          ;;
        engines | schema) _arguments $common ;;
        doctor) _arguments $common '1:URL:' ;;
        bench)
          _arguments $common \
            '(--in-flight)--workers[blocking threads]:N:' \
            '(--workers --hold)--in-flight[asynchronous claims]:N:' \
            '--processes[processes]:N:' '--names[names to contend for]:N:' \
            '--seconds[how long to measure]:N:' \
            '--mode[how to lock]:mode:(exclusive shared permits)' '--permits[permits per name]:N:' \
            '(--in-flight)--hold[how long to hold]:duration:(1ms 10ms)' \
            '--ttl[ttl of the locks]:duration:(10s 30s)'
          ;;
        sim)
          _arguments $common \
            '(--schedules)--minutes[how long, in all]:M:' \
            '(--minutes)--schedules[schedules of each workload]:N:' \
            '--seed[the first schedule]:S:' '--threads[threads]:N:' \
            '(--mutants)--replay[show one schedule]:WORKLOAD\:SEED:' \
            '(--replay)--mutants[is each known mistake caught]' '--list[the workloads]' \
            '--marks[how often each thing happened]' \
            '*:workload:(lease redis redis-amnesia redis-replica memcached session sql redlock redlock-short)'
          ;;
        torture)
          _arguments $common '--all[every scenario on every engine]' \
            '*--scenario[only these scenarios]:N:' \
            '*--engine[only these engines]:engine:(sqlite redis redlock memcached zookeeper etcd postgres postgres-advisory mysql mysql-named)' \
            '*--server[another version of a server]:PRODUCT-VERSION:' \
            '--repeat[runs of each experiment]:N:' '--jobs[runs at the same time]:N:' '--random[random faults]' \
            '--pairs[every two faults together]' \
            '*--fault[only pairs of these faults]:fault:(pause kill waiter silent reset reply memory sessions restart empty backup ahead back disk still failover)' \
            '--seed[which random faults]:S:' '--duration[length of a random run]:duration:(20s 1m)' \
            '--report[write a page]:file:_files' '--markdown[write the table]:file:_files' '--svg[write a picture]:file:_files' \
            '--history[write a history]:file:_files' '--list[list the scenarios]'
          ;;
      esac
      ;;
  esac
}

_holdfast "$@"
