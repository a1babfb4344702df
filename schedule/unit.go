package schedule

import (
	"fmt"
	"path/filepath"
	"strings"

	"wiretime/atomicfile"
)

// WriteUnit writes a systemd service that carries a schedule out, into the folder dir, and returns its path. command is
// the program and its arguments, folder the working directory; both must be absolute. The service starts with the
// machine, is started again when it fails, and ends when the schedule is over. system says that it is one of the
// machine's, not of a user's.
func (s *Schedule) WriteUnit(dir string, command []string, folder string, system bool) (path string, err error) {
	path = filepath.Join(dir, "wiretime-"+s.Name+".service")
	text, err := s.unit(command, folder, system)
	if err == nil {
		err = atomicfile.WriteBytes(path, []byte(text))
	}
	if err != nil {
		return "", fmt.Errorf("write the unit %s: %w", path, err)
	}
	return path, nil
}

// unit returns the service's text. Exit code 2 means that the input is wrong, which another start does not mend. The
// program needs up to 20 s to stop in good order.
func (s *Schedule) unit(command []string, folder string, system bool) (string, error) {
	words := make([]string, len(command))
	for i, word := range command {
		var err error
		if words[i], err = quote(word); err != nil {
			return "", err
		}
	}
	if strings.ContainsAny(folder, "\n\r") {
		return "", fmt.Errorf("the folder %q has a line break, which units cannot have", folder)
	}
	target, after := "default.target", ""
	if system {
		target, after = "multi-user.target", "Wants=network-online.target\nAfter=network-online.target time-sync.target\n"
	}
	return fmt.Sprintf(`[Unit]
Description=Wiretime schedule %s
%s
[Service]
Type=exec
ExecStart=%s
WorkingDirectory=%s
Restart=on-failure
RestartSec=10s
RestartPreventExitStatus=2
SuccessExitStatus=130
KillSignal=SIGINT
KillMode=mixed
TimeoutStopSec=60s

[Install]
WantedBy=%s
`, s.Name, after, strings.Join(words, " "), strings.ReplaceAll(folder, "%", "%%"), target), nil
}

// quote writes a word of a command line as systemd reads it (systemd.service(5), "Command lines").
func quote(word string) (string, error) {
	if strings.ContainsAny(word, "\n\r\x00") {
		return "", fmt.Errorf("%q has a line break, which units cannot have", word)
	}
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, `%`, `%%`, `$`, `$$`).Replace(word) + `"`, nil
}
