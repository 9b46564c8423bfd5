// SPDX-License-Identifier: Apache-2.0

package bootimage

import (
	"errors"
	"fmt"
	"strings"
)

// maxCommandLine is the maximum length of the kernel parameters together. Linux on x86 has 2048 bytes
// for them (COMMAND_LINE_SIZE), and the boot loaders add some.
const maxCommandLine = 1900

// ParseParameters splits a kernel command line into its parameters. Double quotes surround a value with
// spaces, as for Linux. A parameter that a boot loader's configuration cannot express is an error: one
// with a control character, a single quote, a backslash or a character outside ASCII.
func ParseParameters(line string) ([]string, error) {
	if len(line) > maxCommandLine {
		return nil, fmt.Errorf("kernel parameters of %d bytes: at most %d are possible", len(line), maxCommandLine)
	}
	quoted := false
	for _, c := range line {
		switch {
		case c < ' ' || c > '~' || c == '\'' || c == '\\':
			return nil, fmt.Errorf("kernel parameters with the character %q, which a boot loader's configuration cannot express", c)
		case c == '"':
			quoted = !quoted
		}
	}
	if quoted {
		return nil, errors.New("kernel parameters with a double quote that is not closed")
	}
	return strings.FieldsFunc(line, func(c rune) bool {
		if c == '"' {
			quoted = !quoted
		}
		return c == ' ' && !quoted
	}), nil
}

// grub returns GRUB's configuration. A parameter is in single quotes, in which GRUB expands nothing, and
// without its own double quotes: GRUB adds them when it passes a parameter with spaces to Linux.
//
// Source: ironic/common/grub_conf.template.
func grub(parameters []string) []byte {
	var line strings.Builder
	for _, p := range parameters {
		line.WriteString(" '" + strings.ReplaceAll(p, `"`, "") + "'")
	}
	return fmt.Appendf(nil, `set default=0
set timeout=1

menuentry "ramdisk" {
	linux /%s%s
	initrd /%s
}
`, kernelPath, line.String(), ramdiskPath)
}

// isolinux returns the configuration of isolinux, which passes the rest of the line to Linux as it is.
func isolinux(parameters []string) []byte {
	return fmt.Appendf(nil, "default ramdisk\n\nlabel ramdisk\nkernel /%s\nappend %s\n",
		kernelPath, strings.Join(append([]string{"initrd=/" + ramdiskPath}, parameters...), " "))
}
