// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/ironstate/ironstate/cmd/ironstate/internal/front"
	"github.com/ironstate/ironstate/conductor"
	"github.com/ironstate/ironstate/conductor/hardware"
	"github.com/ironstate/ironstate/conductor/hardware/images"
	"github.com/ironstate/ironstate/internal/program"
)

// imageFlags are the flags for the images that machines boot.
type imageFlags struct {
	url, folder string
	listen      string // host:port for images alone; empty if they share the API's port
	apiURL      string

	kernel, ramdisk, bootloader, parameters string // the defaults of driver_info

	byArchitecture map[string]hardware.BootFiles // others in place of the first three
	whole          bool                          // see hardware.Config.WholeRamdisks

	deploy string // the default deploy interface
	source string // the default of image_download_source

	hosts  []string     // see images.NewClient
	client *http.Client // made for hosts and for the hosts of the URLs above
}

func (i *imageFlags) define(flags *flag.FlagSet) {
	flags.StringVar(&i.url, "image-url", "",
		"`URL` at which BMCs reach this process's images, such as http://192.0.2.1:6180/images; empty serves none")
	flags.StringVar(&i.folder, "image-folder", "",
		"`folder` for the images of -image-url, of this process alone; files in it can be named by file URLs")
	flags.StringVar(&i.listen, "image-listen", "",
		"`host:port` of images alone, by HTTP; empty serves them on the API's port, below the path of -image-url")
	flags.Func("image-host", "`host`, with or without a port, that is allowed: downloads may be redirected to it, "+
		"and it may be a loopback or link-local address, such as images.example or 127.0.0.1:8080; may be repeated", func(host string) error {
		i.hosts = append(i.hosts, host)
		return nil
	})
	flags.StringVar(&i.apiURL, "api-url", "",
		"`URL` at which agents reach the API, such as http://192.0.2.1:6385; their images and scripts contain it")
	flags.StringVar(&i.kernel, "deploy-kernel", "",
		"`URL` of the agent's kernel, for nodes whose driver_info lacks deploy_kernel or deploy_ramdisk")
	flags.StringVar(&i.ramdisk, "deploy-ramdisk", "", "`URL` of the agent's ramdisk, see -deploy-kernel")
	flags.StringVar(&i.bootloader, "bootloader", "",
		"`URL` of the image of an EFI system partition with a boot loader, for nodes whose driver_info has none")
	i.byArchitecture = map[string]hardware.BootFiles{}
	for name, set := range map[string]func(*hardware.BootFiles, string){
		"deploy-kernel":  func(f *hardware.BootFiles, url string) { f.Kernel = url },
		"deploy-ramdisk": func(f *hardware.BootFiles, url string) { f.Ramdisk = url },
		"bootloader":     func(f *hardware.BootFiles, url string) { f.Bootloader = url },
	} {
		flags.Func(name+"-by-arch", "`architecture=URL` in place of -"+name+" for nodes with this cpu_arch in their properties, "+
			"such as aarch64; may be repeated", func(value string) error { return i.addArchitecture(value, set) })
	}
	flags.BoolVar(&i.whole, "whole-ramdisks", false,
		"refuse nodes whose driver_info has a kernel without a ramdisk, or a ramdisk without a kernel, and do not boot -deploy-kernel instead")
	flags.StringVar(&i.deploy, "deploy-interface", "",
		"deploy `interface` of nodes of redfish and ipmi that have chosen none: direct, the default, ramdisk or custom-agent")
	flags.StringVar(&i.source, "image-download-source", "http",
		"who downloads the images of instances of nodes that do not say it: http, the agent, or local, this process, which needs -image-url")
	flags.StringVar(&i.parameters, "kernel-append-params", "",
		"kernel `parameters` of the agent, which %default% in kernel_append_params stands for; "+
			"empty for Ironic's own, nofb vga=normal, with nomodeset before 2023.2")
}

// addArchitecture parses a value of -deploy-kernel-by-arch and its like.
func (i *imageFlags) addArchitecture(value string, set func(*hardware.BootFiles, string)) error {
	architecture, source, found := strings.Cut(value, "=")
	if !found || architecture == "" || source == "" {
		return errors.New("want architecture=URL, such as aarch64=http://192.0.2.1/ipa.kernel")
	}
	files := i.byArchitecture[architecture]
	set(&files, source)
	i.byArchitecture[architecture] = files
	return nil
}

// takenSegments are the first segments of the paths that the API's port serves without images: of the program's own,
// and of the API's, which it also serves without v1, as Ironic does.
var takenSegments = []string{
	"explorer", "healthz", "metrics", "readyz", "v1",
	"allocations", "chassis", "conductors", "continue_inspection", "deploy_templates", "drivers", "events", "heartbeat",
	"inspection_rules", "lookup", "nodes", "portgroups", "ports", "runbooks", "shards", "volume",
}

// makeClient makes the client for the hosts of -image-host and of the URLs that the operator has named.
func (i *imageFlags) makeClient() (err error) {
	hosts := i.hosts
	sources := []string{i.kernel, i.ramdisk, i.bootloader}
	for _, files := range i.byArchitecture {
		sources = append(sources, files.Kernel, files.Ramdisk, files.Bootloader)
	}
	for _, source := range sources {
		if at, err := url.Parse(source); err == nil && at.Host != "" {
			hosts = append(hosts, at.Host)
		}
	}
	if i.client, err = images.NewClient(hosts...); err != nil {
		return program.Usagef("-image-host or the URL of an image: %v", err)
	}
	return nil
}

func (i *imageFlags) check() error {
	if err := i.makeClient(); err != nil {
		return err
	}
	if (i.url == "") != (i.folder == "") {
		return program.Usagef("-image-url and -image-folder need each other: one of them is missing")
	}
	if (i.kernel == "") != (i.ramdisk == "") {
		return program.Usagef("-deploy-kernel and -deploy-ramdisk need each other: one of them is missing")
	}
	first := "" // segment of the path
	if i.url != "" {
		if err := (images.Config{URL: i.url}).Check(); err != nil {
			return program.Usagef("-image-url: %v", err)
		}
		if at, err := url.Parse(i.url); err == nil {
			first, _, _ = strings.Cut(strings.Trim(at.Path, "/"), "/")
		}
	}
	switch {
	case i.url == "" && i.source == "local":
		return program.Usagef("-image-download-source is local, which needs -image-url")
	case i.url == "" && i.listen != "":
		return program.Usagef("-image-listen needs -image-url")
	case i.listen != "" && !isHostPort(i.listen):
		return program.Usagef("-image-listen is %q: want host:port, such as 192.0.2.1:6180", i.listen)
	case i.url == "":
		return nil
	case i.listen == "" && (first == "" || slices.Contains(takenSegments, first)):
		return program.Usagef("-image-url is %q: on the API's port it needs a path of its own, such as /images", i.url)
	}
	return nil
}

// open returns the server of the images, nil if none is configured. networks are the networks of the machines; none
// admits all.
func (i *imageFlags) open(networks conductor.AgentNetworks) (*images.Server, error) {
	if i.url == "" {
		return nil, nil
	}
	config := images.Config{Folder: i.folder, URL: i.url, Client: i.client}
	if len(networks) > 0 {
		config.Machines = networks.Contains
	}
	return images.New(config)
}

// serve serves images on their own port, if they have one, or else in front of next. The function stop ends
// it. Images need no password: a BMC has none, and their names cannot be guessed.
func (i *imageFlags) serve(
	server *images.Server, next http.Handler, limits *front.Limits, log *slog.Logger,
) (handler http.Handler, stop func(), err error) {
	switch {
	case server == nil:
		return next, func() {}, nil
	case i.listen == "":
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if server.Serves(r.URL.Path) {
				server.ServeHTTP(w, r)
				return
			}
			next.ServeHTTP(w, r)
		}), func() {}, nil
	}
	web, err := front.Listen(i.listen, server, front.Config{Limits: limits, Log: log, Failed: func(err error) {
		log.Error("images are no longer served", "error", err)
	}})
	if err != nil {
		return nil, nil, fmt.Errorf("listen for requests for images: %w", err)
	}
	return next, web.Close, nil
}
