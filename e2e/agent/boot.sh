#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# boot.sh SOURCE FOLDER FILE [options of the agent]: boots ironic-python-agent as a process, in the foreground, with a file as its
# disk. SOURCE is a clone of the agent, or the root folder of a Debian with its package. FOLDER is below /tmp in that case. MAC and
# PARAMETERS are as in ramdisk.py. It needs root: the agent runs in a mount namespace whose /dev has the
# disk alone, with an /etc of its own, programs that cannot change the machine, and without the capabilities to do it. The
# agent's command power_off ends the process and leaves the file FOLDER/off.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
source=$1 folder=$2 file=$3
shift 3
rm -rf "$folder/bin" "$folder/off"
mkdir -p "$folder/bin"
program() { printf '#!/bin/sh\n%s\n' "$2" > "$folder/bin/$1"; chmod +x "$folder/bin/$1"; }
for name in biosdevname chronyc dmidecode efibootmgr fuser hdparm ipmitool iscsistart lldpd mdadm multipath ntpdate nvme smartctl systemctl; do
	program $name 'exit 1'
done
for name in chronyd dmesg hwclock journalctl modprobe multipathd; do
	program $name 'exit 0'
done
program udevadm 'sleep 0.5' # the device nodes of partitions are made below
# lsblk finds the UUIDs of partitions in the database of udev alone.
program lsblk 'disk=${DISK#/dev/}
for part in /sys/block/$disk/${disk}p*; do
	[ ! -e "$part/dev" ] || { echo I:1; blkid --probe --output udev "/dev/${part##*/}" | sed s/^/E:/; } > "/run/udev/data/b$(cat "$part/dev")"
done
exec /usr/bin/lsblk "$@"'
program lshw 'echo {}'
for name in poweroff reboot shutdown; do
	program $name "touch '$folder/off'; kill -TERM \$AGENT_PID"
done

DISK=$(losetup --show --find --partscan "$file")
trap 'losetup --detach "$DISK"' EXIT
root=/
if [ -x "$source/usr/bin/ironic-python-agent" ]; then
	root=$source source=
fi
cp "$here/ramdisk.py" "$here/simulated.py" "$folder/"
export ROOT=$root DISK FOLDER=$folder PATH=$folder/bin:/usr/sbin:/usr/bin:/sbin:/bin PYTHONDONTWRITEBYTECODE=1 HOME=$folder
unshare --mount --ipc bash -c '
set -eu
etc=$(mktemp -d) dev=$(mktemp -d)
mount -t tmpfs -o mode=755 none "$etc"
cp -a "$ROOT/etc/." "$etc/" 2>&1 || true
mkdir -p "$etc/ipa-rescue-config"
mount --move "$etc" "$ROOT/etc"
mount -t tmpfs -o mode=755 none "$dev"
while read -r name major minor; do mknod -m 666 "$dev/$name" c $major $minor; done <<-END
	null 1 3
	zero 1 5
	random 1 8
	urandom 1 9
	tty 5 0
END
disk=$(basename "$DISK")
mknod -m 600 "$dev/$disk" b $(stat -c "%Hr %Lr" "$DISK")
mkdir "$dev/shm"
ln -s /proc/self/fd "$dev/fd"
mount --move "$dev" /dev
rmdir "$etc" "$dev"
[ ! -e /proc/sysrq-trigger ] || mount --bind /dev/null /proc/sysrq-trigger
for folder in /sys/firmware /lib/modules; do
	[ ! -d $folder ] || mount -t tmpfs none $folder || true
done
if [ "$ROOT" != / ]; then
	for folder in /proc /sys /dev /tmp; do
		mount --rbind $folder "$ROOT$folder"
	done
fi
mount -t tmpfs none "$ROOT/run"
mkdir -p "$ROOT/run/udev/data"
(
	# Device nodes for the partitions of this disk, as udev would make them.
	while kill -0 $$ 2>/dev/null; do
		for part in /sys/block/$disk/${disk}p*/dev; do
			[ ! -e "$part" ] || [ -b "/dev/$(basename "$(dirname "$part")")" ] || mknod -m 600 "/dev/$(basename "$(dirname "$part")")" b $(tr : " " < "$part")
		done
		for node in /dev/${disk}p*; do
			[ -e "/sys/block/$disk/$(basename "$node")" ] || rm -f "$node"
		done
		sleep 0.2
	done
) &
exec setpriv --bounding-set -sys_boot,-mknod,-sys_module,-sys_rawio,-net_admin --inh-caps -all chroot "$ROOT" python3 "$@"
' boot "$folder/ramdisk.py" "$source" "$@" < /dev/null
