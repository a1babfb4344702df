package main

import (
	"bufio"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"wiretime/atomicfile"
	"wiretime/study"
	"wiretime/terminal"
)

// storedCommandsFlag allows the commands of a study that comes from a store.
const storedCommandsFlag = "run-stored-commands"

// confirmedMark is the environment variable with which this program, when it starts itself
// again, knows that the commands of the study were confirmed. It holds their digest.
const confirmedMark = "WIRETIME_COMMANDS_CONFIRMED"

// confirmCommands makes sure that the user wants the commands run that the study's servers are
// started with. A study that the user names is the user's own. One that is resumed comes from
// the store, which may be a stranger's: its commands must be among those that this user has run
// before, or be confirmed, on the terminal or by a flag.
func confirmCommands(o runOptions, s *study.Study) error {
	if len(s.OwnServers) == 0 {
		return nil
	}
	text, err := json.MarshalIndent(s.OwnServers, "", "  ")
	if err != nil {
		return fmt.Errorf("describe the commands of study %s: %w", s.Name, err)
	}
	digest := fmt.Sprintf("%x", sha256.Sum256(text))
	if os.Getenv(confirmedMark) == digest {
		return nil
	}
	named := o.study != ""
	if !named && !o.storedCommands && !confirmedBefore(digest) {
		said := describeCommands(o.store, s)
		if !terminal.Is(os.Stdin) || !terminal.Is(os.Stderr) {
			return input(fmt.Errorf("resume a run: %slook at them, then add --%s, or name the study's file", said, storedCommandsFlag))
		}
		if err := ask(os.Stdin, stderr, said); err != nil {
			return input(fmt.Errorf("resume a run: %w", err))
		}
	}
	// Where nothing can be remembered, the next resumption asks.
	if err := rememberCommands(digest, text); err != nil && !named {
		fmt.Fprintln(stderr, "wiretime: the commands will have to be confirmed again:", err)
	}
	return os.Setenv(confirmedMark, digest)
}

// describeCommands says what a study of a store would run. Words are quoted, since they could
// hold what moves a terminal's cursor.
func describeCommands(dir string, s *study.Study) string {
	var said strings.Builder
	fmt.Fprintf(&said, "the study of store %s starts programs that you have not run before:\n", dir)
	for _, server := range s.OwnServers {
		fmt.Fprintf(&said, "    %s: %q\n", server.Name, server.Command)
	}
	return said.String()
}

// ask shows what would be run and waits for a yes.
func ask(in io.Reader, out io.Writer, said string) error {
	fmt.Fprintf(out, "%s%sRun them? [y/N] ", strings.ToUpper(said[:1]), said[1:])
	answer, err := bufio.NewReader(in).ReadString('\n')
	if err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	switch strings.ToLower(strings.TrimSpace(answer)) {
	case "y", "yes":
		return nil
	}
	return errors.New("the study's commands were not confirmed")
}

// commandsFile returns the file that remembers confirmed commands, in $XDG_STATE_HOME/wiretime
// and, by the XDG default, ~/.local/state/wiretime.
func commandsFile(digest string) (string, error) {
	state := os.Getenv("XDG_STATE_HOME")
	if !filepath.IsAbs(state) { // the XDG specification says to ignore relative paths
		home, err := os.UserHomeDir()
		if err != nil {
			return "", fmt.Errorf("find the folder for confirmed commands: %w", err)
		}
		state = filepath.Join(home, ".local", "state")
	}
	return filepath.Join(state, "wiretime", "commands", digest+".json"), nil
}

func confirmedBefore(digest string) bool {
	file, err := commandsFile(digest)
	if err != nil {
		return false
	}
	_, err = os.Stat(file)
	return err == nil
}

// rememberCommands remembers that this user has run the commands.
func rememberCommands(digest string, text []byte) error {
	file, err := commandsFile(digest)
	if err != nil {
		return err
	}
	if _, err := os.Stat(file); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		return fmt.Errorf("remember the study's commands: %w", err)
	}
	if err := atomicfile.WriteBytes(file, text); err != nil {
		return fmt.Errorf("remember the study's commands: %w", err)
	}
	return nil
}
