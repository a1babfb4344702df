package browser

import (
	"os/exec"
	"path/filepath"

	"wiretime/sandbox"
)

// Contain keeps a browser, which runs the code of strangers' pages, to its own folder and what all programs may read
// (see [sandbox.Contain]). The command gets the environment that it names, with a place for temporary files. It
// must come before the browser enters a namespace.
func Contain(command *exec.Cmd, folder string) error {
	binary, err := filepath.EvalSymlinks(command.Path)
	if err != nil {
		return err
	}
	command.Env = append(command.Env, "TMPDIR="+folder)
	return sandbox.Contain(command, sandbox.Policy{Read: []string{filepath.Dir(binary)}, Write: []string{folder}, Namespaces: true})
}
