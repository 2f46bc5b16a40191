# Runs the daemon, and starts it again when it has crashed: sh supervise.sh NODE PROGRAM
#
# The shell needs a megabyte of memory. If it was given the proxy's socket (descriptor 3), it keeps it open, so connections
# wait in the socket's queue while the next daemon starts. A daemon that crashes more than five times in a minute, or that a service
# starts and that can't start, is replaced for a while by a process that relays without metering, so that programs keep their network. It is
# started again if it dies.
# METER_CRASH_BUDGET sets another number than five, for tests.

budget=${METER_CRASH_BUDGET:-5} crashes=0 since=0 pause=60 child='' relay='' timer='' stopping=''
export METER_SUPERVISOR=$$
if [ -n "${LISTEN_FDS-}" ]; then export LISTEN_PID=$$; fi

# Returns 0 for a process that was just forked: it is a copy of this shell until it runs its program, and would lose a
# signal.
is_copy() {
  if [ -e /proc/$$/cmdline ]; then
    cmp -s /proc/$$/cmdline "/proc/$1/cmdline" 2>/dev/null
  else
    own=$(ps -o args= -p $$) && [ "$(ps -o args= -p "$1")" = "$own" ]
  fi
}

stop() {
  stopping=1
  for pid in $child $relay $timer; do
    while is_copy "$pid"; do :; done
    kill -TERM "$pid" 2>/dev/null
  done
}
trap stop TERM
# A terminal sends these to the daemon too.
trap : INT HUP

# Waits for a process and sets `code`. A signal ends `wait` early.
await() {
  wait "$1"
  code=$?
  while kill -0 "$1" 2>/dev/null; do
    wait "$1"
    code=$?
  done
}

while :; do
  "$@" start --foreground &
  child=$!
  # The signal may have come before its process id was known.
  [ -z "$stopping" ] || stop
  await "$child"
  # A daemon that ends as it was asked to deletes daemon.json before.
  if [ -n "$stopping" ] || [ "$code" -eq 0 ]; then exit "$code"; fi
  # 75: it lost its socket. 76: its proxy kept crashing. 78: it can't start.
  if [ "$code" -le 128 ] && [ "$code" -ne 75 ] && [ "$code" -ne 76 ] && [ "$code" -ne 78 ] && [ "$crashes" -eq 0 ] &&
    ! grep -qs "\"pid\": $child," "$METER_HOME/daemon.json"; then exit "$code"; fi
  child=''
  now=$(date +%s)
  if [ $((now - since)) -gt 60 ]; then crashes=0 since=$now pause=60; fi
  crashes=$((crashes + 1))
  export METER_CRASH="$code $now $crashes"
  [ "$crashes" -gt "$budget" ] || [ "$code" -eq 76 ] || [ "$code" -eq 78 ] || continue

  left=$pause
  while [ "$left" -gt 0 ] && [ -z "$stopping" ]; do
    if [ -z "$relay" ]; then
      METER_RELAY_SECONDS=$left "$@" start --foreground --relay-only &
      relay=$!
      [ -z "$stopping" ] || stop
    elif ! kill -0 "$relay" 2>/dev/null; then
      await "$relay"
      # It ends with 0 if it was asked to end.
      [ "$code" -ne 0 ] || exit 0
      relay=''
    fi
    sleep 1 &
    timer=$!
    [ -z "$stopping" ] || stop
    await "$timer"
    left=$((left - 1))
  done
  timer=''
  if [ -n "$stopping" ]; then
    code=0
    [ -z "$relay" ] || await "$relay"
    exit "$code"
  fi
  # It accepts nothing more, and ends when its connections have.
  [ -z "$relay" ] || kill -TERM "$relay" 2>/dev/null
  relay=''
  crashes=$budget since=$(date +%s) pause=$((pause < 1800 ? pause * 2 : 3600))
done
