root=$1
shift
mount --bind /proc "$root/proc"
mount --rbind /dev "$root/dev"
mount --bind /tmp "$root/tmp"
mount --bind . "$root/mnt"
exec chroot "$root" env --chdir=/mnt "$@"
