package setup

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"wiretime/scratch"
)

// starters are the programs by which the scripts of Debian's packages start services. The scripts
// find them through PATH (Debian Policy, section 9.3.3; deb-systemd-invoke(1p)).
var starters = []string{"invoke-rc.d", "deb-systemd-invoke"}

// standIn takes a starter's place while packages are installed.
const standIn = "#!/bin/sh\n# Of Wiretime's setup: Debian starts web servers on installation, but they are only needed for tests.\nexit 0\n"

// systemPath is apt's default of DPkg::Path (apt.conf(5)).
const systemPath = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

// keepServicesStopped makes a folder with stand-ins for the starters. With the returned path as their
// PATH, apt and dpkg start no services. Other installations are unaffected, and nothing has to be
// undone if this program is killed. The caller removes the folder.
func keepServicesStopped() (folder *scratch.Folder, path string, err error) {
	folder, err = scratch.Make("", "wiretime-setup-")
	for _, name := range starters {
		if err == nil {
			err = os.WriteFile(filepath.Join(folder.Path, name), []byte(standIn), 0o755)
		}
	}
	if err != nil {
		return nil, "", fmt.Errorf("keep services from being started: %w", err)
	}
	return folder, folder.Path + ":" + systemPath, nil
}

// policyFile is where earlier versions of this program put a policy while they installed packages.
const policyFile = "/usr/sbin/policy-rc.d"

// policy is what they put there. A killed one left it behind.
const policy = "#!/bin/sh\n# Of Wiretime's setup: Debian starts web servers on installation, but they are only needed for tests.\n[ -z \"$WIRETIME_SETUP\" ] || exit 101\n"

// removePolicy removes the policy of an earlier version, and leaves one of the machine's own alone.
func removePolicy(file string) error {
	text, err := os.ReadFile(file)
	if err == nil && string(text) == policy {
		err = os.Remove(file)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("allow services to be started again: %w", err)
	}
	return nil
}
