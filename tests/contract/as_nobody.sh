#!/bin/sh
# Runs a command as the user nobody, without groups or capabilities; as ourselves where we are not
# root, or where nobody cannot reach the program.
nobody="setpriv --reuid=nobody --regid=nogroup --clear-groups --no-new-privs --inh-caps=-all"
if [ "$(id -u)" = 0 ] && $nobody test -x "$1" 2>/dev/null; then
  exec env HOME=/nonexistent $nobody "$@"
fi
exec "$@"
