package store

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

// kinds says what the names in a store's folder are. A store may come from another machine, where a link could have been
// put in the place of any of them.
var kinds = map[string]fs.FileMode{
	databaseName: 0, databaseName + "-wal": 0, databaseName + "-shm": 0, databaseName + "-journal": 0,
	newDatabase: 0, newDatabase + "-wal": 0, newDatabase + "-shm": 0, newDatabase + "-journal": 0,
	lockName: 0, loadsName: fs.ModeDir, authorityName: fs.ModeDir, scratchName: fs.ModeDir,
}

// checkKinds makes sure that files and folders of a store are files and folders, not links or FIFOs.
func checkKinds(dir string) error {
	for name, want := range kinds {
		info, err := os.Lstat(filepath.Join(dir, name))
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return err
		}
		if info.Mode().Type() != want {
			what := "file"
			if want == fs.ModeDir {
				what = "folder"
			}
			return fmt.Errorf("%w: its %s is not a plain %s, and links in a store are not followed; to keep it on another disk, move the whole store there", ErrNotStore, name, what)
		}
	}
	return nil
}

// makeFolder makes a folder with those above it that are missing, and has sync make each new name durable: without that
// a power cut may take a store away that has kept loads.
func makeFolder(dir string, sync func(folder string) error) error {
	var missing []string
	for at := dir; ; at = filepath.Dir(at) {
		if _, err := os.Stat(at); !errors.Is(err, fs.ErrNotExist) || at == filepath.Dir(at) {
			break
		}
		missing = append(missing, at)
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("make the folder: %w", err)
	}
	for _, made := range slices.Backward(missing) {
		if err := sync(filepath.Dir(made)); err != nil {
			return fmt.Errorf("make the folder durable: %w", err)
		}
	}
	return nil
}

// networkMagics are the file systems (statfs(2)) whose files other machines may change. SQLite's write-ahead log needs
// memory that all its users share, which two machines cannot.
var networkMagics = map[int64]string{
	unix.NFS_SUPER_MAGIC: "NFS", unix.SMB_SUPER_MAGIC: "SMB", unix.CIFS_SUPER_MAGIC: "SMB", unix.SMB2_SUPER_MAGIC: "SMB",
	unix.V9FS_MAGIC: "9p", unix.AFS_SUPER_MAGIC: "AFS", unix.AFS_FS_MAGIC: "AFS", unix.CODA_SUPER_MAGIC: "Coda", unix.CEPH_SUPER_MAGIC: "Ceph",
}

// networkFUSE are the names of file systems over FUSE that lead to other machines. Others, such as NTFS, are local.
var networkFUSE = []string{
	"sshfs", "s3fs", "gcsfuse", "rclone", "glusterfs", "ceph", "davfs", "curlftpfs", "juicefs", "smbnetfs", "mount-s3", "moosefs", "lustre", "blobfuse", "blobfuse2", "goofys",
}

// networkOf returns the name of the network file system that a folder lies on; empty if it is on a local one.
func networkOf(dir string) (string, error) {
	var s unix.Statfs_t
	if err := unix.Statfs(dir, &s); err != nil {
		return "", fmt.Errorf("find the file system of %s: %w", dir, err)
	}
	if s.Type != unix.FUSE_SUPER_MAGIC {
		return networkMagics[int64(uint32(s.Type))], nil
	}
	var info unix.Stat_t
	if err := unix.Stat(dir, &info); err != nil {
		return "", fmt.Errorf("find the file system of %s: %w", dir, err)
	}
	mounts, err := os.Open("/proc/self/mountinfo")
	if err != nil {
		return "", fmt.Errorf("find the file system of %s: %w", dir, err)
	}
	defer mounts.Close()
	return fuseNetwork(mounts, fmt.Sprintf("%d:%d", unix.Major(info.Dev), unix.Minor(info.Dev))), nil
}

// fuseNetwork looks a device up among the mounts (proc_pid_mountinfo(5)), and returns the name of its file system if that
// leads to other machines.
func fuseNetwork(mounts io.Reader, device string) string {
	lines := bufio.NewScanner(mounts)
	for lines.Scan() {
		where, what, ok := strings.Cut(lines.Text(), " - ")
		fields, system := strings.Fields(where), strings.Fields(what)
		if !ok || len(fields) < 3 || len(system) < 2 || fields[2] != device {
			continue
		}
		kind, source := strings.TrimPrefix(system[0], "fuse."), system[1]
		for _, name := range networkFUSE {
			if kind == name || kind == "fuse" && strings.HasPrefix(source, name) {
				return name
			}
		}
	}
	return ""
}
