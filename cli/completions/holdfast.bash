# bash completion for holdfast(1)

_holdfast() {
  local cur prev words cword
  if declare -F _init_completion >/dev/null; then
    _init_completion -n = || return
  else
    cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]}
    words=("${COMP_WORDS[@]}") cword=$COMP_CWORD
  fi

  local commands="run acquire renew release ls show break engines schema bench sim torture"
  local common="--on --json --help"
  local i command="" after=0 on=()
  for ((i = 1; i < cword; i++)); do
    case ${words[i]} in
      --on) on=(--on "${words[i+1]}"); ((i++)) ;;
      --) after=$((i + 1)); break ;;
      -*) ;;
      *) [[ -z $command ]] && command=${words[i]} ;;
    esac
  done

  # Behind "--" of run, complete the command that is run.
  if [[ $command == run && $after -gt 0 ]]; then
    if declare -F _command_offset >/dev/null; then
      _command_offset "$after"
    else
      COMPREPLY=($(compgen -c -- "$cur"))
    fi
    return
  fi

  case $prev in
    --on) COMPREPLY=($(compgen -W "sqlite:///" -- "$cur")); return ;;
    --ttl | --wait) COMPREPLY=($(compgen -W "500ms 10s 30s 2m 1h" -- "$cur")); return ;;
    --hold) COMPREPLY=($(compgen -W "1ms 10ms" -- "$cur")); return ;;
    --mode) COMPREPLY=($(compgen -W "exclusive shared permits" -- "$cur")); return ;;
    --engine) COMPREPLY=($(compgen -W "sqlite redis redlock memcached zookeeper etcd postgres postgres-advisory mysql mysql-named" -- "$cur")); return ;;
    --report | --markdown | --svg | --history) COMPREPLY=($(compgen -f -- "$cur")); return ;;
    --scenario | --repeat | --seed | --duration) return ;;
    --permits | --token | --workers | --in-flight | --processes | --names | --seconds) return ;;
    --minutes | --schedules | --seed | --threads | --replay) return ;;
  esac

  if [[ -z $command ]]; then
    COMPREPLY=($(compgen -W "$commands $common --version" -- "$cur"))
    return
  fi
  local options=""
  case $command in
    run) options="--ttl --wait --no-wait --shared --permits --isolate --" ;;
    acquire) options="--ttl --wait --no-wait --shared --permits" ;;
    break) options="--token" ;;
    bench) options="--workers --in-flight --processes --names --seconds --mode --permits --hold --ttl" ;;
    sim) options="--minutes --schedules --seed --threads --replay --mutants --list --marks" ;;
    torture) options="--all --scenario --engine --repeat --random --seed --duration --report --markdown --svg --history --list" ;;
  esac
  if [[ $cur == -* ]]; then
    COMPREPLY=($(compgen -W "$options $common" -- "$cur"))
    return
  fi
  case $command in
    run | acquire | show | break | ls)
      # The names of locks that are held now; names with blanks are left out.
      local names
      names=$("${words[0]}" "${on[@]}" ls -- "$cur" 2>/dev/null | awk 'NR > 1 { print $1 }' | sort -u)
      COMPREPLY=($(compgen -W "$names" -- "$cur"))
      ;;
    sim)
      local workloads
      workloads=$("${words[0]}" sim --list 2>/dev/null | awk '/^$/ { exit } NR > 1 { print $1 }')
      COMPREPLY=($(compgen -W "$workloads" -- "$cur"))
      ;;
  esac
}
complete -F _holdfast holdfast
