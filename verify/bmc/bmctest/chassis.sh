#!/bin/sh
# Controls the chassis of an IPMI BMC. ipmi_sim calls this script in its folder:
#   chassis.sh MC get NAME...
#   chassis.sh MC set NAME VALUE [NAME VALUE]...
command=$2
shift 2

get() {
	case $1 in
	power | boot)
		read -r value <"$1"
		echo "$1:$value"
		;;
	esac
}

# 1<> opens the file without truncating it, so that no reader finds it empty.
set_value() {
	case $1 in
	power) echo "$2" 1<>power ;;
	shutdown) echo 0 1<>power ;;
	boot) echo "$2" >boot ;;
	esac
}

case $command in
get)
	for name; do
		get "$name"
	done
	;;
set)
	while [ $# -ge 2 ]; do
		set_value "$1" "$2"
		shift 2
	done
	;;
esac
