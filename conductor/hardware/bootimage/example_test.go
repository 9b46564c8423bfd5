// SPDX-License-Identifier: Apache-2.0

package bootimage_test

import (
	"fmt"
	"log"
	"os"
	"path/filepath"

	"github.com/ironstate/ironstate/conductor/hardware/bootimage"
)

func Example() {
	folder, err := os.MkdirTemp("", "")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(folder)
	path := func(name string) string { return filepath.Join(folder, name) }
	for _, name := range []string{"ipa.kernel", "ipa.initramfs", "esp.img"} { // in their place, the real ones
		if err := os.WriteFile(path(name), make([]byte, 10<<10), 0o600); err != nil {
			log.Fatal(err)
		}
	}
	parameters, err := bootimage.ParseParameters(`ipa-api-url=http://192.0.2.1:6385 boot_method=vmedia sshkey="ssh-ed25519 AAAA me"`)
	if err != nil {
		log.Fatal(err)
	}
	file, err := os.Create(path("boot.iso"))
	if err != nil {
		log.Fatal(err)
	}
	defer file.Close()
	image := bootimage.Image{Kernel: path("ipa.kernel"), Ramdisk: path("ipa.initramfs"), ESP: path("esp.img"), Parameters: parameters}
	if err := image.Write(file, folder); err != nil {
		log.Fatal(err)
	}
	fmt.Println(len(parameters), "kernel parameters")
	// Output: 3 kernel parameters
}
