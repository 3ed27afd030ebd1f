# bash completion for holdfast(1)
#
# Anybody who can take a lock chooses its name. So no name is ever evaluated here: no eval, no unquoted
# expansion, and no `compgen -W`, which expands $(…) in its words. `holdfast ls --names` prints one
# printable name per line; what is inserted of it is quoted as the place needs it.

# Joins again what COMP_WORDBREAKS has split at : = @, up to the cursor. Sets words, cur, and lead, the
# part of cur that readline does not replace.
_holdfast_words() {
  local rest=${COMP_LINE:0:COMP_POINT} stripped word i glued joining=0
  words=() lead=''
  for ((i = 0; i <= COMP_CWORD; i++)); do
    word=${COMP_WORDS[i]}
    stripped=${rest#"${rest%%[![:space:]]*}"}
    glued=0
    ((i > 0)) && [[ $rest == "$stripped" ]] && glued=1
    ((i == COMP_CWORD)) && word=$stripped
    rest=${stripped#"$word"}
    if ((glued)) && { ((joining)) || [[ $word == [:=@]* ]]; }; then
      ((i == COMP_CWORD)) && lead=${words[-1]}
      words[-1]+=$word
    else
      words+=("$word")
    fi
    joining=0
    [[ $word == *[:=@] ]] && joining=1
  done
  cur=${words[-1]}
  # Right behind such a character readline begins an empty word.
  [[ $cur == "$lead"*([:=@]) ]] && lead=$cur
  return 0
}

# Takes the quotes off a word, without expanding anything. Sets plain, and quote if one is open. Fails
# where the shell would expand something, or the quoting is mixed.
_holdfast_unquote() {
  local word=$1 char i
  plain='' quote=''
  case $word in
    \'*)
      quote=\' plain=${word:1}
      [[ $plain != *\'* ]]
      return
      ;;
    \"*) quote=\" word=${word:1} ;;
    \~*) return 1 ;;
  esac
  for ((i = 0; i < ${#word}; i++)); do
    char=${word:i:1}
    case $char in
      \\)
        i=$((i + 1))
        [[ $quote && ${word:i:1} != [\$\`\"\\] ]] && plain+=\\
        plain+=${word:i:1}
        ;;
      [\'\"])
        [[ $quote && $char == \' ]] || return 1
        plain+=$char
        ;;
      \$ | \`) return 1 ;;
      *) plain+=$char ;;
    esac
  done
}

# Offers the lines of its input that begin with what was typed.
_holdfast_offer() {
  local plain quote line text
  _holdfast_unquote "$cur" || return 0
  while IFS= read -r line; do
    [[ $line && $line == "$plain"* ]] || continue
    case $quote in
      \') text=${line//\'/\'\\\'\'} ;;
      \")
        [[ $line == *!* ]] && continue  # It has no quoting that history expansion leaves alone.
        text=${line//\\/\\\\}
        text=${text//\"/\\\"}
        text=${text//\$/\\\$}
        text=${text//\`/\\\`}
        ;;
      *)
        printf -v text %q "$line"
        [[ $text == "$lead"* ]] || continue
        text=${text#"$lead"}
        ;;
    esac
    COMPREPLY+=("$text")
  done
}

_holdfast_options() { _holdfast_offer < <(printf '%s\n' "$@"); }

# The store that the line names so far. In the environment, not in an argument, which others can see.
_holdfast_list() {
  local plain quote
  if [[ $on ]]; then
    [[ $on == \'*\' || $on == \"*\" ]] && on=${on%?}
    _holdfast_unquote "$on" || return 0
    local -x HOLDFAST_URL=$plain
  fi
  "${words[0]}" ls --names 2>/dev/null </dev/null
}

_holdfast() {
  local words cur lead on='' command='' i after=0
  local -a common=(--on --json --verbose --help)
  COMPREPLY=()
  _holdfast_words
  for ((i = 1; i < ${#words[@]} - 1; i++)); do
    case ${words[i]} in
      --on)
        i=$((i + 1))
        on=${words[i]}
        ;;
      --on=*) on=${words[i]#--on=} ;;
      --) after=1 ;;
      -*) ;;
      *) [[ -z $command ]] && command=${words[i]} ;;
    esac
    ((after)) && break
  done

  # Behind "--" of run, complete the command that is run.
  if [[ $command == run && $after == 1 ]]; then
    for ((i = 1; i < COMP_CWORD; i++)); do
      [[ ${COMP_WORDS[i]} == -- ]] && break
    done
    if declare -F _command_offset >/dev/null; then
      _command_offset $((i + 1))
    else
      mapfile -t COMPREPLY < <(compgen -c -- "$cur")
    fi
    return
  fi

  case ${words[${#words[@]}-2]} in
    --on) _holdfast_options sqlite:///; return ;;
    --ttl | --wait | --keep | --jitter) _holdfast_options 500ms 10s 30s 2m 1h; return ;;
    --interval) _holdfast_options 500ms 1s 5s; return ;;
    --sort) _holdfast_options waiters wait age name; return ;;
    --hold) _holdfast_options 1ms 10ms; return ;;
    --otlp) _holdfast_options http://127.0.0.1:4318; return ;;
    --listen) _holdfast_options 127.0.0.1:7272 unix:/run/holdfast/http.sock; return ;;
    --mode) _holdfast_options exclusive shared permits; return ;;
    --engine)
      _holdfast_options sqlite redis redlock memcached zookeeper etcd postgres postgres-advisory mysql \
        mysql-named
      return
      ;;
    --report | --markdown | --svg | --history | --tls-cert | --tls-key | --token-file)
      compopt -o filenames 2>/dev/null  # readline quotes them
      mapfile -t COMPREPLY < <(compgen -f -- "$cur")
      return
      ;;
    --fault)
      _holdfast_options pause kill waiter silent reset reply memory sessions restart empty backup ahead \
        back disk still failover
      return
      ;;
    --scenario | --server | --repeat | --jobs | --seed | --duration) return ;;
    --once-per) _holdfast_options 15m 1h 6h 1d 1w 1mo; return ;;
    --zone)
      _holdfast_options UTC Europe/Berlin Europe/London America/New_York Asia/Tokyo
      return
      ;;
    --timeout | --at | --forget | --filter | --count | --permits | --label | --owner | --command | --conflict-exit-code | --token | --workers | --in-flight | --processes | --seconds) return ;;
    --host | --minutes | --schedules | --threads | --replay) return ;;
    --names) [[ $command == bench ]] && return ;;
  esac

  if [[ -z $command ]]; then
    _holdfast_options run acquire renew release ls show jobs break deadlocks top serve doctor engines schema bench \
      sim torture "${common[@]}" --version
    return
  fi
  local -a options=()
  case $command in
    run)
      options=(--ttl --wait --timeout --no-wait --nonblock --shared --exclusive --permits --label --owner --quiet --otlp
        --isolate --reenter --notify --command --conflict-exit-code --once-per --at --zone --sliding
        --once-even-if-failed --keep --jitter --)
      ;;
    acquire)
      options=(--ttl --wait --timeout --no-wait --nonblock --shared --exclusive --permits --label --owner --quiet --otlp
        --conflict-exit-code)
      ;;
    ls) options=(--names) ;;
    jobs) options=(--forget) ;;
    break) options=(--token) ;;
    top) options=(--interval --sort --filter --engine --count --once --read-only) ;;
    serve) options=(--listen --tls-cert --tls-key --token-file --host --read-only --otlp) ;;
    bench)
      options=(--workers --in-flight --processes --names --seconds --mode --permits --hold --ttl)
      ;;
    sim) options=(--minutes --schedules --seed --threads --replay --mutants --list --marks) ;;
    torture)
      options=(--all --scenario --engine --server --repeat --jobs --pairs --fault --random --seed
        --duration --report --markdown --svg --history --list)
      ;;
  esac
  if [[ $cur == -* ]]; then
    _holdfast_options "${options[@]}" "${common[@]}"
    return
  fi
  case $command in
    run | acquire | show | break | ls) _holdfast_offer < <(_holdfast_list) ;;
    sim)
      _holdfast_offer < <("${words[0]}" sim --list 2>/dev/null </dev/null |
        awk '/^$/ { exit } NR > 1 { print $1 }')
      ;;
  esac
}
complete -F _holdfast holdfast
