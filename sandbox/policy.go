// Package sandbox starts programs that can reach little of this machine: browsers, which run the code of
// strangers' pages, other people's servers, and the kernels of the virtual clock.
//
// A contained program is started by a step: this program again, which gives up rights and then becomes the
// other program. Where the machine has them, the step uses
//
//   - Landlock: which files it may read, which folders it may write to, no signals to and no sockets of others;
//   - a user who owns nothing, if this program is root;
//   - no capabilities, but those that the policy names, and no way to new ones (PR_SET_NO_NEW_PRIVS);
//   - a seccomp filter against system calls that change the machine or look into other processes;
//   - limits on files and processes, and the first place when the kernel must kill for want of memory;
//   - an environment with nothing of this program's own.
//
// None of this needs a right that the program does not have.
package sandbox

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
)

// Policy says what a program may do. The zero value lets it read the system's programs and
// libraries, and use the network.
type Policy struct {
	// Read are files and folders that it may read and execute, beside those of the system.
	// Those that do not exist are ignored.
	Read []string
	// Write are folders in which it may do anything but make devices. If this program is root, they
	// come to belong to the program's user.
	Write []string
	// KeepUser leaves the program to the user of this one, without any capability. Programs that are
	// root's lose those too.
	KeepUser bool
	// Bare lets it read nothing of the system but Read.
	Bare bool
	// Ports lets it listen on ports below 1024.
	Ports bool
	// Namespaces lets it make user namespaces and change its root, as browsers do for their own sandbox.
	Namespaces bool
	// Trace lets it trace its own children.
	Trace bool
	// Offline allows no sockets but Unix ones.
	Offline bool
}

// Command is the first argument of this program when it is the step that contains another.
const Command = "enter-sandbox"

// sent is what the step is told.
type sent struct {
	Policy
	// Search says that the user must get past folders that are closed to it on the way to what it may read.
	Search bool
}

// system are what programs need of a machine: programs, libraries and their configuration, without keys, logs or
// other people's files.
var system = []string{
	"/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/opt", "/proc", "/sys", "/var/cache/fontconfig",
	"/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom",
	"/etc/alternatives", "/etc/apache2", "/etc/ca-certificates", "/etc/chromium", "/etc/chromium.d", "/etc/crypto-policies",
	"/etc/drirc", "/etc/firefox", "/etc/firefox-esr", "/etc/fonts", "/etc/gai.conf", "/etc/group", "/etc/host.conf", "/etc/hosts",
	"/etc/httpd", "/etc/java", "/etc/java-17-openjdk", "/etc/java-21-openjdk", "/etc/java-25-openjdk", "/etc/ld.so.cache",
	"/etc/ld.so.conf", "/etc/ld.so.conf.d", "/etc/localtime", "/etc/mime.types", "/etc/nginx", "/etc/nsswitch.conf",
	"/etc/os-release", "/etc/passwd", "/etc/pki", "/etc/protocols", "/etc/resolv.conf", "/etc/services",
	"/etc/ssl/certs", "/etc/ssl/openssl.cnf", "/etc/timezone",
}

// devices are what every program may write to.
var devices = []string{"/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom"}

// Contain arranges for a command to run under a policy once it is started. It must come before anything else that
// changes the command's program, such as entering a namespace. The command keeps its files, process group and
// folder. It gets the environment that it names and nothing else; if it names none, it gets an empty one.
//
// If this program is root, Contain makes the folders that the other may write to belong to the user that it will be. It
// returns an error if that fails, or if one lies in a folder that is closed to that user.
func Contain(command *exec.Cmd, p Policy) error {
	if command.Err != nil {
		return command.Err
	}
	program, err := filepath.EvalSymlinks(command.Path)
	if err != nil {
		return fmt.Errorf("put %s into a sandbox: %w", command.Path, err)
	}
	s := sent{Policy: p}
	s.Read = append(slices.Clone(p.Read), program)
	if user, changes := newUser(p); changes {
		for _, folder := range p.Write {
			if closed(filepath.Dir(folder)) {
				return fmt.Errorf("put %s into a sandbox: its folder %s lies in one that is closed to the user that root's programs run as: set TMPDIR to a folder that all users can reach, such as /tmp",
					program, folder)
			}
			if err := give(folder, user); err != nil {
				return fmt.Errorf("put %s into a sandbox: give it its folder: %w", program, err)
			}
		}
		s.Search = slices.ContainsFunc(s.Read, unreadable)
	}
	text, err := json.Marshal(s)
	if err != nil {
		return err
	}
	command.Args = append([]string{"wiretime", Command, string(text), program}, command.Args...)
	command.Path = "/proc/self/exe"
	if command.Env == nil {
		command.Env = []string{}
	}
	return nil
}

// TempDir returns a folder for temporary files that a program can get to whose user changes: that of [os.TempDir], unless it is
// closed to that user and another one is not.
func TempDir() string {
	if _, changes := newUser(Policy{}); changes {
		for _, folder := range []string{os.TempDir(), "/tmp", "/var/tmp"} {
			if !closed(folder) {
				return folder
			}
		}
	}
	return os.TempDir()
}

// give makes a folder and what it holds belong to a user. It follows no symbolic links.
func give(folder string, user int) error {
	return filepath.WalkDir(folder, func(name string, _ os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		return os.Lchown(name, user, user)
	})
}

// unreadable reports whether others than its owner cannot read a file or folder, or cannot get to it.
func unreadable(name string) bool {
	info, err := os.Stat(name)
	if err != nil {
		return false // there is nothing to be read
	}
	needed := os.FileMode(0o004)
	if info.IsDir() {
		needed = 0o005
	}
	return info.Mode().Perm()&needed != needed || closed(filepath.Dir(name))
}

// closed reports whether others than its owner cannot get past a folder, or past one above it.
func closed(folder string) bool {
	for at := filepath.Clean(folder); ; at = filepath.Dir(at) {
		if info, err := os.Stat(at); err != nil || info.Mode().Perm()&0o001 == 0 {
			return true
		}
		if at == filepath.Dir(at) {
			return false
		}
	}
}
