package setup

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
)

// lockPatience makes apt wait for another apt, in seconds, including one that an
// interrupted set-up left running.
const lockPatience = "DPkg::Lock::Timeout=900"

// updateLists makes dpkg complete interrupted work and then fetches the package lists.
func updateLists(ctx context.Context, p Progress) error {
	if err := repair(ctx, p); err != nil {
		return err
	}
	p.Say("fetching")
	return command(ctx, "apt-get", "-o", lockPatience, "-qq", "-o", "APT::Update::Error-Mode=any", "update")
}

// repair completes what a killed dpkg has left half-done, if anything.
func repair(ctx context.Context, p Progress) error {
	audit, err := read(ctx, "dpkg", "--audit")
	if err != nil {
		return fmt.Errorf("check whether dpkg was interrupted: %w", err)
	}
	pending, err := filepath.Glob("/var/lib/dpkg/updates/*")
	if err != nil || len(audit) == 0 && len(pending) == 0 {
		return err
	}
	p.Note("an earlier installation was interrupted: completing it first")
	p.Say("completing the interrupted installation")
	if err := undisturbed(ctx, p, "dpkg", "--configure", "-a", "--force-confold"); err != nil {
		p.Note(err.Error()) // a half-unpacked package; apt unpacks it again
	}
	return undisturbed(ctx, p, "apt-get", "-o", lockPatience, "-qq", "-y", "--fix-broken", "install")
}

// offered divides programs into those that apt has packages of and those that it has none of, by its present lists. Without
// lists, as on a machine on which nobody has ever called apt-get update, it takes apt to have all.
func (d Distribution) offered(ctx context.Context, programs []program) (offered, absent []program, err error) {
	lists, err := read(ctx, "apt-get", "indextargets", "--format", "$(FILENAME)", "Created-By: Packages")
	if err != nil || lists == "" {
		return programs, nil, err
	}
	for _, p := range programs {
		policy, err := read(ctx, "apt-cache", append([]string{"policy"}, strings.Fields(p.from[d.family])...)...)
		if err != nil {
			return nil, nil, err
		}
		candidates := strings.Count(policy, "\n  Candidate: ") - strings.Count(policy, "\n  Candidate: (none)")
		if candidates == len(strings.Fields(p.from[d.family])) {
			offered = append(offered, p)
		} else {
			absent = append(absent, p)
		}
	}
	return offered, absent, nil
}

// read returns what one of apt's programs prints in English.
func read(ctx context.Context, program string, args ...string) (string, error) {
	c := exec.CommandContext(ctx, program, args...)
	c.Env = append(os.Environ(), "LC_ALL=C")
	out, err := c.Output()
	if err != nil {
		if failed, ok := errors.AsType[*exec.ExitError](err); ok {
			err = fmt.Errorf("%w: %s", err, lastLines(string(failed.Stderr), 15))
		}
		return "", fmt.Errorf("%s: %w", strings.Join(append([]string{program}, args...), " "), err)
	}
	return string(out), nil
}

// install downloads packages and makes dpkg install them without starting their services.
func install(ctx context.Context, p Progress, packages []string) error {
	arguments := slices.Concat([]string{"-o", lockPatience, "-qq", "-y", "--no-install-recommends"}, []string{"install"}, packages)
	p.Say("downloading")
	if err := command(ctx, "apt-get", append([]string{"--download-only"}, arguments...)...); err != nil {
		return err
	}
	p.Say("installing")
	err := undisturbed(ctx, p, "apt-get", append([]string{"--no-download"}, arguments...)...)
	return errors.Join(err, disable(packages), context.Cause(ctx))
}

// undisturbed runs dpkg, which must not be interrupted because it would leave packages
// half-installed. When ctx is done the program runs on to its end, which takes seconds. It
// has its own process group, so it survives even if this program is killed. It starts no services.
func undisturbed(ctx context.Context, p Progress, program string, args ...string) (err error) {
	stopped, path, err := keepServicesStopped()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, stopped.Remove()) }()
	c := exec.Command(program, args...)
	c.Env = append(os.Environ(), "DEBIAN_FRONTEND=noninteractive", "PATH="+path)
	c.ExtraFiles = []*os.File{stopped.Held()} // needed as long as the program runs
	c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	var said bytes.Buffer
	c.Stdout, c.Stderr = &said, &said
	c.WaitDelay = patience // for children that keep its output open
	if program == "apt-get" {
		c.Args = append(c.Args, "-o", "DPkg::Path="+path)
	}
	finish, err := watchStatus(c, p)
	if err != nil {
		return err
	}
	ended := make(chan error, 1)
	go func() { ended <- c.Wait() }()
	interrupted := ctx.Done()
	for {
		select {
		case err = <-ended:
			finish()
			if err != nil {
				return fmt.Errorf("%s: %w: %s", program, err, lastLines(said.String(), 15))
			}
			return nil
		case <-interrupted:
			interrupted = nil
			p.Note("interrupted; waiting for dpkg, which must not be stopped midway")
		}
	}
}

// watchStatus starts apt or dpkg and reports each of its steps to p until finish is called.
func watchStatus(c *exec.Cmd, p Progress) (finish func(), err error) {
	from, to, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("start %s: %w", c.Path, err)
	}
	if filepath.Base(c.Path) == "apt-get" {
		c.ExtraFiles = append(c.ExtraFiles, to)
		c.Args = append(c.Args, "-o", fmt.Sprintf("APT::Status-Fd=%d", 2+len(c.ExtraFiles)))
	}
	err = c.Start()
	_ = to.Close()
	if err != nil {
		_ = from.Close()
		return nil, err
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for lines := bufio.NewScanner(from); lines.Scan(); {
			if what := statusLine(lines.Text()); what != "" {
				p.Say(what)
			}
		}
	}()
	return func() {
		_ = from.Close() // a child may still hold the other end
		<-ended
	}, nil
}

// statusLine parses a line of APT::Status-Fd, as in pmstatus:gcc:40.0:Unpacking gcc
// (amd64). It returns "" if the line is of no interest.
func statusLine(line string) string {
	fields := strings.SplitN(line, ":", 4)
	if len(fields) < 4 || fields[0] != "pmstatus" {
		return ""
	}
	percent, _, _ := strings.Cut(fields[2], ".")
	return percent + " %, " + fields[3]
}

// systemdRuns reports whether systemd manages this machine's services (sd_booted(3)).
func systemdRuns() bool {
	_, err := os.Stat("/run/systemd/system")
	return err == nil
}

// servers lists the packages whose services would start at each boot.
var servers = []string{"caddy", "nginx", "h2o"}

// disable keeps newly installed servers from starting at each boot.
func disable(packages []string) error {
	if !systemdRuns() {
		return nil // nothing starts services here, even if systemctl is installed
	}
	for _, name := range servers {
		if !slices.Contains(packages, name) {
			continue
		}
		if err := command(context.Background(), "systemctl", "disable", "--now", "--quiet", name); err != nil {
			return err
		}
	}
	return nil
}
