// SPDX-License-Identifier: Apache-2.0

package fleet

import (
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/ironstate/ironstate/internal/program"
	"github.com/ironstate/ironstate/verify/bmc/bmctest"
	"github.com/ironstate/ironstate/verify/secret"
)

// passwordVariable is the environment variable with the password of the BMCs.
const passwordVariable = "IRONSTATE_FLEET_PASSWORD"

// The files in the folder.
const (
	caFile       = "ca.pem"
	caKeyFile    = "ca-key.pem"
	passwordFile = "password"
	disksFolder  = "disks"
	machinesFile = "machines.json"
	nodesFile    = "nodes.json"
	hostsFile    = "hosts.yaml"
)

// folder is the folder of a fleet. Everything in it is for its owner alone.
type folder struct {
	path      string // absolute
	temporary bool
}

// openFolder makes the folder of a path, or a temporary one for an empty path.
func openFolder(path string) (f folder, err error) {
	if path == "" {
		f.temporary = true
		f.path, err = os.MkdirTemp("", "ironstate-fleet-")
	} else {
		f.path, err = filepath.Abs(path)
	}
	if err == nil {
		err = os.MkdirAll(f.file(disksFolder), 0o700)
	}
	if err != nil {
		return f, errors.Join(fmt.Errorf("make the folder: %w", err), f.close())
	}
	return f, nil
}

func (f folder) file(name string) string { return filepath.Join(f.path, name) }

// write replaces a file.
func (f folder) write(name string, content []byte) error {
	next := f.file(name + ".new")
	if err := os.WriteFile(next, content, 0o600); err != nil {
		return err
	}
	return os.Rename(next, f.file(name))
}

// close removes a temporary folder.
func (f folder) close() error {
	if !f.temporary {
		return nil
	}
	return os.RemoveAll(f.path)
}

// authority returns the authority that signs the certificates of the BMCs. It is made if the folder has none.
func (f folder) authority() (*tls.Certificate, error) {
	known, err := tls.LoadX509KeyPair(f.file(caFile), f.file(caKeyFile))
	if err == nil {
		return &known, nil
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("read the certificate authority: %w", err)
	}
	made, err := bmctest.NewAuthority()
	if err != nil {
		return nil, err
	}
	key, err := x509.MarshalPKCS8PrivateKey(made.PrivateKey)
	if err == nil {
		err = f.write(caKeyFile, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: key}))
	}
	if err == nil {
		err = f.write(caFile, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: made.Certificate[0]}))
	}
	if err != nil {
		return nil, fmt.Errorf("keep the certificate authority: %w", err)
	}
	return made, nil
}

// password returns the BMCs' password: from the file that is given, the environment, or the folder, where it is made.
func (f folder) password(given string) (secret.Text, error) {
	if given == "" {
		if text := os.Getenv(passwordVariable); text != "" {
			return secret.New(text), nil
		}
		given = f.file(passwordFile)
		if _, err := os.Stat(given); errors.Is(err, fs.ErrNotExist) {
			if err := f.write(passwordFile, []byte(rand.Text()+"\n")); err != nil {
				return secret.Text{}, fmt.Errorf("keep the password: %w", err)
			}
		}
	}
	content, err := os.ReadFile(given)
	if err != nil {
		return secret.Text{}, fmt.Errorf("read the password: %w", err)
	}
	text := strings.TrimRight(string(content), "\r\n")
	if text == "" {
		return secret.Text{}, program.Usagef("the password in %s is empty", given)
	}
	return secret.New(text), nil
}
