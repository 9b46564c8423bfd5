// SPDX-License-Identifier: Apache-2.0

package agenttest

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// BootIPXE boots a machine by an iPXE script at a URL. It executes the script and those that the script chains,
// downloads the kernel and the ramdisk, and returns the kernel parameters. Config.Boots can call it. The MACs are the
// addresses of the network interfaces. BootIPXE executes only the commands that Ironic's scripts have. The error says
// which script, kernel or ramdisk could not be loaded, that the script has powered the machine off, or that no script
// has booted a kernel.
//
// Source: the commands of iPXE, https://ipxe.org/cmd.
func BootIPXE(ctx context.Context, client *http.Client, script string, macs []string) (parameters string, err error) {
	i := &ipxe{ctx: ctx, client: client, settings: map[string]string{}}
	for n, mac := range macs {
		i.settings[fmt.Sprintf("net%d/mac", n)] = strings.ToLower(mac)
	}
	i.settings["mac"] = i.settings["net0/mac"]
	if err := i.chain(script); !errors.Is(err, errBooted) {
		return "", errors.Join(errors.New("agenttest: iPXE has booted nothing"), err, i.failure)
	}
	return i.parameters, nil
}

// ipxe executes iPXE's scripts.
type ipxe struct {
	ctx        context.Context
	client     *http.Client
	settings   map[string]string
	kernel     bool   // a kernel is loaded
	ramdisk    string // the name of the loaded ramdisk; empty for none
	initrd     string // the ramdisk that the kernel parameters name
	parameters string
	failure    error // the last download that failed
	executed   int   // commands
}

// The reasons why a command ends the scripts or is false.
var (
	errBooted     = errors.New("booted")
	errPoweredOff = errors.New("the script has powered the machine off")
	errExit       = errors.New("the script has ended")
	errEndless    = fmt.Errorf("the script has more than %d commands", maxCommands)
	errFalse      = errors.New("the condition is false")
)

// maxCommands bounds the commands of all scripts of a boot.
const maxCommands = 1000

// chain downloads a script and executes it.
func (i *ipxe) chain(location string) error {
	script, err := i.download(location)
	if err != nil {
		return err
	}
	lines := strings.Split(script, "\n")
	if lines[0] != "#!ipxe" {
		return fmt.Errorf("%s is no iPXE script", location)
	}
	for at := 1; at < len(lines); at++ {
		label, err := i.line(lines[at])
		switch {
		case errors.Is(err, errExit):
			return nil
		case err != nil:
			return err
		case label == "":
			continue
		}
		at = slices.IndexFunc(lines, func(line string) bool { return strings.TrimSpace(line) == ":"+label })
		if at < 0 {
			return fmt.Errorf("%s has no label %s", location, label)
		}
	}
	return nil
}

// line executes the commands of a line, between which there may be || and &&, and returns the label to go to. The error
// is the last executed command's; an empty command succeeds.
func (i *ipxe) line(line string) (label string, err error) {
	words := strings.Fields(line)
	if len(words) > 0 && (strings.HasPrefix(words[0], "#") || strings.HasPrefix(words[0], ":")) {
		return "", nil
	}
	for execute := true; ; {
		end := slices.IndexFunc(words, func(word string) bool { return word == "||" || word == "&&" })
		last := end < 0
		if last {
			end = len(words)
		}
		if execute {
			if label, err = i.command(strings.Fields(i.expand(strings.Join(words[:end], " ")))); label != "" || final(err) {
				return label, err
			}
		}
		if last {
			return "", err
		}
		execute = (words[end] == "||") == (err != nil)
		words = words[end+1:]
	}
}

// final reports whether an error ends all scripts, whatever follows.
func final(err error) bool {
	return errors.Is(err, errBooted) || errors.Is(err, errPoweredOff) || errors.Is(err, errExit) || errors.Is(err, errEndless)
}

var setting = regexp.MustCompile(`\$\{([^${}:]*)(:[a-z0-9]*)?\}`)

// expand replaces settings, such as ${net0/mac:hexhyp}, by their values, the inner ones first.
func (i *ipxe) expand(text string) string {
	for setting.MatchString(text) {
		text = setting.ReplaceAllStringFunc(text, func(found string) string {
			parts := setting.FindStringSubmatch(found)
			value := i.settings[parts[1]]
			if parts[2] == ":hexhyp" {
				value = strings.ReplaceAll(value, ":", "-")
			}
			return value
		})
	}
	return text
}

// command executes one command and returns the label to go to.
func (i *ipxe) command(words []string) (label string, err error) {
	if len(words) == 0 {
		return "", nil
	}
	if i.executed++; i.executed > maxCommands {
		return "", errEndless
	}
	name, args := words[0], append(words[1:], "", "", "")
	switch name {
	case "goto":
		label = args[0]
	case "echo":
	case "imgfree":
		i.kernel, i.ramdisk, i.parameters, i.initrd = false, "", "", ""
	case "set":
		key, _, _ := strings.Cut(args[0], ":")
		i.settings[key] = args[1]
	case "inc":
		err = i.increment(args[0])
	case "isset":
		err = require(args[0] != "")
	case "iseq":
		err = require(args[0] == args[1])
	case "sleep":
		err = i.sleep(args[0])
	case "chain":
		err = i.chain(args[0])
	case "kernel":
		_, err = i.download(args[0])
		if i.kernel = err == nil; i.kernel {
			i.load(words[2:])
		}
	case "initrd":
		err = i.loadRamdisk(args[0], args[1], args[2])
	case "boot":
		err = i.boot()
	case "poweroff":
		err = errPoweredOff
	case "exit":
		err = exit(args[0])
	default:
		err = fmt.Errorf("the command %s is not supported", name)
	}
	return label, err
}

func require(condition bool) error {
	if !condition {
		return errFalse
	}
	return nil
}

func (i *ipxe) increment(name string) error {
	value, err := strconv.Atoi(i.settings[name])
	i.settings[name] = strconv.Itoa(value + 1)
	return err
}

func (i *ipxe) sleep(seconds string) error {
	n, err := strconv.Atoi(seconds)
	if err != nil {
		return err
	}
	select {
	case <-time.After(time.Duration(n) * time.Second):
		return nil
	case <-i.ctx.Done():
		return context.Cause(i.ctx)
	}
}

func (i *ipxe) loadRamdisk(option, name, location string) error {
	if option != "--name" {
		return errors.New("initrd without --name is not supported")
	}
	_, err := i.download(location)
	if err == nil {
		i.ramdisk = name
	}
	return err
}

func (i *ipxe) boot() error {
	if !i.kernel || i.ramdisk == "" || i.ramdisk != i.initrd {
		return fmt.Errorf("boot: kernel %v, ramdisk %q, initrd=%s", i.kernel, i.ramdisk, i.initrd)
	}
	return errBooted
}

func exit(status string) error {
	if status == "" || status == "0" {
		return errExit
	}
	return fmt.Errorf("the script has ended with status %s", status)
}

// load stores the kernel parameters for the agent. The parameter initrd is iPXE's own: it names the ramdisk.
func (i *ipxe) load(parameters []string) {
	var rest []string
	for _, p := range parameters {
		if name, ok := strings.CutPrefix(p, "initrd="); ok {
			i.initrd = name
		} else {
			rest = append(rest, p)
		}
	}
	i.parameters = strings.Join(rest, " ")
}

// download returns the content at a URL. An empty content is an error.
func (i *ipxe) download(location string) (content string, err error) {
	defer func() { i.failure = cmp.Or(err, i.failure) }()
	r, err := http.NewRequestWithContext(i.ctx, http.MethodGet, location, nil)
	if err != nil {
		return "", err
	}
	answer, err := i.client.Do(r)
	if err != nil {
		return "", err
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	if err == nil && (answer.StatusCode != http.StatusOK || len(body) == 0) {
		err = fmt.Errorf("%s: status %d with %d bytes", location, answer.StatusCode, len(body))
	}
	return string(body), err
}
