# Runs Ironic, whose command follows the configuration file, until Ironic or standard input ends, and then kills the
# process group. Ironic therefore ends with the process that has started the script even if that process is killed; the
# script then also removes the folder.
(
	sh -c 'echo $$ >"$0.pid"; exec "$@" --config-file "$0"' "$@"
	[ ! -e "$1.over" ] || rm -rf "${1%/*}"
	kill -KILL 0
) &
read -r _
: >"$1.over"
kill -KILL "$(cat "$1.pid")"
wait
