package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// chrootStudy needs namespaces and TUN devices, but no browser.
const chrootStudy = `name: small
repeats: 1
clock: real
matrix:
  sites: [objects@2x1kB]
  protocols: [h2]
  networks: [{name: quick, rate: 20mbit, rtt: 20ms}]
  loaders: [builtin]
options: {late_limit: 10s, taken_limit: 100%}
`

// inChroot runs the program in a plain chroot, below a mount that others share, and then prints what is mounted there.
const inChroot = `
set -eu
root=$1/holder/root
mount --bind "$1/holder" "$1/holder"
mount --make-shared "$1/holder"
mount -t proc proc "$root/proc"
mount --rbind /dev/net "$root/dev/net"
touch "$root/dev/null" "$root/dev/urandom"
mount --bind /dev/null "$root/dev/null"
mount --bind /dev/urandom "$root/dev/urandom"
shift
status=0
chroot "$@" || status=$?
cat /proc/self/mountinfo >"$root/mounts"
exit $status
`

// TestPlainChroot: in a chroot, where / is no mount point, root measures and leaves no mount behind, and a user is told why that cannot be.
func TestPlainChroot(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Skip("only root can enter a chroot")
	}
	u := self(t)
	root := filepath.Join(u.home, "holder/root")
	for _, folder := range []string{"proc", "dev/net", "dev/shm", "etc", "tmp", "home"} {
		if err := os.MkdirAll(filepath.Join(root, folder), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for _, folder := range []string{u.home, filepath.Join(root, "home"), filepath.Join(root, "tmp")} {
		if err := os.Chmod(folder, 0o777); err != nil {
			t.Fatal(err)
		}
	}
	u.write(t, "holder/root/etc/resolv.conf", "")
	program, err := os.ReadFile(binary)
	if err == nil {
		err = os.WriteFile(filepath.Join(root, "wiretime"), program, 0o755)
	}
	if err != nil {
		t.Fatal(err)
	}
	u.write(t, "holder/root/home/study.yaml", chrootStudy)
	run := func(flags ...string) result {
		words := append([]string{"--mount", "sh", "-c", inChroot, "sh", u.home}, flags...)
		c := exec.CommandContext(t.Context(), "unshare", append(words, root, "/wiretime", "run", "/home/study.yaml", "--store", "/home/kept", "--wait", "0")...)
		c.Env = []string{"HOME=/home", "PATH=" + os.Getenv("PATH")}
		return finish(t, c)
	}
	if r := run(); r.code != 0 || !strings.Contains(r.out, "1 of 1 loads done") {
		t.Errorf("root: exit code %d: %s%s", r.code, r.out, r.errors)
	}
	mounts, err := os.ReadFile(filepath.Join(root, "mounts"))
	if err != nil || !strings.Contains(string(mounts), root+"/proc") || strings.Contains(string(mounts), root+"/dev/shm") {
		t.Errorf("mounted afterwards (%v):\n%s", err, mounts)
	}
	if r := run("--userspec=65534:65534"); r.code != exitMachine || !strings.Contains(r.errors, "it runs in a chroot") {
		t.Errorf("nobody: exit code %d: %s%s", r.code, r.out, r.errors)
	}
}
