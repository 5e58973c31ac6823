#!/usr/bin/env bash
# Runs the tests several times in surroundings that a developer's machine does not have: with all processors busy, in random
# order, without some of the tools, and under one condition at a time. "./task stress" runs it in the module's directory.
#
#   tools/stress.sh [-n RUNS] [-seed N] [-condition NAME] [-packages LIST] [-run REGEXP] [-user NAME] [-load N] [-- COMMAND…]
#
# COMMAND replaces "go test". A run with the same seed hides the same tools, shuffles alike and chooses the same condition.
set -euo pipefail
shopt -s extglob nullglob

runs=3 seed=$((RANDOM * 32768 + RANDOM)) condition='' packages=(./...) pattern='' user=nobody load=$(getconf _NPROCESSORS_ONLN)
command=()
anyone=(plain umask german turkish proxy home git) # conditions that need no rights
root=(user noipv6 modcache)
# The tests can do without these. A name with a version suffix is hidden together with the plain name.
hideable=(bwrap chromium clangd dlv fd fdfind gdb gopls lldb-dap node npm python3 rg rustc shellcheck shfmt)

usage() { echo "stress: $1; the first lines of tools/stress.sh describe its flags" >&2 && exit 2; }
while [ $# -gt 0 ]; do
  case $1 in
    --)
      shift
      command=("$@")
      break
      ;;
    -n | -seed | -condition | -packages | -run | -user | -load) [ $# -gt 1 ] || usage "$1 needs a value" ;;&
    -n) runs=$2 ;;
    -seed) seed=$2 ;;
    -condition) condition=$2 ;;
    -packages) IFS=', ' read -ra packages <<<"$2" ;;
    -run) pattern=$2 ;;
    -user) user=$2 ;;
    -load) load=$2 ;;
    *) usage "unexpected argument $1" ;;
  esac
  shift 2
done
for number in "$runs" "$seed" "$load"; do [[ $number == +([0-9]) ]] || usage "$number is not a number"; done
case " ${anyone[*]} ${root[*]}  " in *" $condition "*) ;; *) usage "unknown condition $condition (${anyone[*]} ${root[*]})" ;; esac
[ -f go.mod ] || usage "run it in the module's directory"

# Tools are hidden on purpose, so a missing one must not fail the tests. The defaults of these are below HOME, which differs in some runs.
unset GJC_CI_STRICT
for name in GOCACHE GOMODCACHE GOENV GOPROXY GOSUMDB GOFLAGS GOTOOLCHAIN; do export "$name=$(go env "$name")"; done
[ ! -d ~/.rustup ] || export RUSTUP_HOME="${RUSTUP_HOME:-$HOME/.rustup}" CARGO_HOME="${CARGO_HOME:-$HOME/.cargo}"

busy=() dir='' base=/home/gjc-stress-$$
remove() {
  for made in "$dir" "$base"; do
    [ ! -d "$made" ] || { chmod -R u+w "$made" && rm -rf "$made"; } # module caches are read-only
  done
}
summary=$(mktemp)
trap '[ ${#busy[@]} = 0 ] || kill "${busy[@]}"; remove; rm -f "$summary"' EXIT
for _ in $(seq "$load"); do
  while :; do :; done &
  busy+=($!)
done

# hide sets PATH to a directory that links all programs except for a random choice of the tools.
hide() {
  mkdir "$dir/bin"
  local from tool programs
  IFS=: read -ra path <<<"$PATH"
  for from in "${path[@]}"; do
    [[ $from == /* ]] || continue
    programs=("$from"/*)
    [ ${#programs[@]} = 0 ] || ln -s "${programs[@]}" "$dir/bin/" 2>/dev/null || true # the first directory that has a name wins
  done
  for tool in gopls dlv; do # the pinned versions, if none is on PATH
    [ -e "$dir/bin/$tool" ] || [ ! -f tools/go.mod ] || ln -s "$(go tool -modfile=tools/go.mod -n "$tool")" "$dir/bin/$tool"
  done
  hidden=()
  for tool in "${hideable[@]}"; do
    [ $((RANDOM % 3)) = 0 ] || continue
    hidden+=("$tool")
    rm -f "$dir/bin/$tool"*([-.0-9])
    case $tool in python3) rm -f "$dir/bin/python" ;; npm) rm -f "$dir/bin/npx" ;; esac
  done
  export PATH=$dir/bin
}

# as_user makes the tests run as an ordinary user, in a copy of the module that belongs to that user, with its own home and caches.
as_user() {
  # The home directory must not be in a temporary directory: that is another condition.
  mkdir -p "$base/home"
  cp -a . "$base/gjc"
  cp -a "$GOCACHE" "$base/gocache"
  cp -a "$GOMODCACHE" "$base/modcache"
  [ -d "$base/gjc/.git" ] || rm -f "$base/gjc/.git" # that of a worktree names a directory that the user may be unable to read
  chown -hR "$user:" "$base"
  chmod 755 "$base"
  cd "$base/gjc"
  export HOME=$base/home USER=$user LOGNAME=$user GOCACHE=$base/gocache GOMODCACHE=$base/modcache GOENV=off
  unset RUSTUP_HOME CARGO_HOME
  before=(setpriv "--reuid=$user" "--regid=$(id -g "$user")" --clear-groups)
}

# apply sets up the condition. before precedes the command.
# shellcheck disable=SC2016 # the inner shell expands
apply() {
  before=()
  case $1 in
    user) as_user ;;
    umask) umask 077 ;;
    german) export LANG=de_DE.UTF-8 LC_ALL=de_DE.UTF-8 ;;
    turkish) export LANG=tr_TR.UTF-8 LC_ALL=tr_TR.UTF-8 ;;
    proxy)
      for name in HTTP_PROXY HTTPS_PROXY ALL_PROXY; do export "$name=http://127.0.0.1:1" "${name,,}=http://127.0.0.1:1"; done
      export NO_PROXY='' no_proxy='' GOPROXY=off # the modules are in the cache
      ;;
    noipv6)
      before=(unshare --net sh -c 'for n in all default lo; do echo 1 >/proc/sys/net/ipv6/conf/$n/disable_ipv6; done; ip link set lo up && exec "$@"' sh)
      ;;
    home) mkdir "$dir/home" && export HOME=$dir/home ;;
    modcache)
      before=(unshare --mount sh -c 'mount --bind "$0" "$0" && mount -o remount,bind,ro "$0" && exec "$@"' "$GOMODCACHE")
      ;;
    git)
      for name in "${!GIT_@}" EMAIL; do unset "$name"; done
      export GIT_CONFIG_GLOBAL=/dev/null GIT_CONFIG_SYSTEM=/dev/null
      ;;
  esac
}

# left prints the processes that carry the run's mark.
left() { grep -lsz "^GJC_STRESS_RUN=$1\$" /proc/+([0-9])/environ | grep -o '[0-9]*' || true; }

# round is one run; it prints its summary on descriptor 3.
round() (
  RANDOM=$1
  hide
  name=$condition
  if [ -z "$name" ]; then
    possible=("${anyone[@]}")
    [ "$(id -u)" != 0 ] || possible+=("${root[@]}")
    name=${possible[RANDOM % ${#possible[@]}]}
  fi
  what="seed $1, condition $name, hidden: ${hidden[*]}"
  echo "$what"
  apply "$name"
  [ ${#command[@]} -gt 0 ] || command=(go test -count=1 "-shuffle=$1" -timeout=1h ${pattern:+"-run=$pattern"} "${packages[@]}")
  result=passed
  env "GJC_STRESS_RUN=$$-$1" "${before[@]}" "${command[@]}" || result=FAILED
  # Killed processes need a moment.
  for _ in $(seq 100); do
    [ -n "$(left "$$-$1")" ] || break
    sleep 0.1
  done
  for pid in $(left "$$-$1"); do
    echo "left: $pid $(tr '\0' ' ' <"/proc/$pid/cmdline")"
    kill -KILL "$pid" && result='FAILED (processes left)'
  done
  echo "$what: $result in $((SECONDS - begin))s" >&3
  [ "$result" = passed ]
)

exec 3>"$summary"
failed=0
for i in $(seq "$runs"); do
  begin=$SECONDS dir=$(mktemp -d "${TMPDIR:-/tmp}/gjc-stress-XXXXXX")
  chmod 755 "$dir"
  round $((seed + i - 1)) || failed=$((failed + 1))
  remove
done
cat "$summary"
[ "$failed" = 0 ] || { echo "stress: $failed of $runs runs failed; repeat one with -n 1 -seed SEED" >&2 && exit 1; }
