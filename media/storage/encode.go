package storage

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"wiretime/atomicfile"
	"wiretime/process"
	"wiretime/scratch"
)

// ErrNoFFmpeg says that ffmpeg, which encodes clips, is not installed.
var ErrNoFFmpeg = errors.New("ffmpeg is not installed: install it (Debian package ffmpeg), or use a generated storage, which does not need it")

// rungs are how Encode encodes each resolution: the picture's height, and the
// bitrates that YouTube recommends for uploads.
var rungs = []struct {
	resolution Resolution
	height     int
	bitrate    string
}{{HD, 720, "5M"}, {FHD, 1080, "8M"}, {QHD, 1440, "16M"}}

// Encode encodes a clip, a file or whatever else ffmpeg takes as an input, into the item
// called name of the storage in folder dir: segments of a second in HD, FHD and QHD (H.264
// in MPEG-TS), each of which begins with a key frame. The item appears whole or not at all,
// and must not exist before. The error wraps ErrNoFFmpeg if there is no ffmpeg.
func Encode(ctx context.Context, dir, name, clip string) error {
	return encode(ctx, dir, name, "-i", clip)
}

func encode(ctx context.Context, dir, name string, input ...string) (err error) {
	program, err := exec.LookPath("ffmpeg")
	if err != nil {
		return fmt.Errorf("encode %s: %w", name, ErrNoFFmpeg)
	}
	if name != filepath.Base(name) || strings.HasPrefix(name, ".") {
		return fmt.Errorf("encode a clip as item %q: want a plain name", name)
	}
	unfinished, err := scratch.Make(dir, ".encode-")
	if err != nil {
		return fmt.Errorf("encode %s: %w", name, err)
	}
	defer func() { err = errors.Join(err, unfinished.Remove()) }() // already renamed if this succeeded
	temporary := unfinished.Path
	seconds := fmt.Sprint(SegmentLength.Seconds())
	args := append([]string{"-nostdin", "-v", "error"}, input...)
	for _, r := range rungs {
		folder := filepath.Join(temporary, r.resolution.String())
		if err := os.Mkdir(folder, 0o755); err != nil {
			return fmt.Errorf("encode %s: %w", name, err)
		}
		args = append(args, "-map", "0:v:0", "-map", "0:a:0?", "-vf", fmt.Sprintf("scale=-2:%d", r.height),
			"-c:v", "libx264", "-b:v", r.bitrate, "-maxrate", r.bitrate, "-bufsize", r.bitrate,
			"-force_key_frames", "expr:gte(t,n_forced*"+seconds+")", "-c:a", "aac",
			"-f", "segment", "-segment_time", seconds, filepath.Join(folder, "%06d.ts"))
	}
	command := exec.CommandContext(ctx, program, args...)
	var said strings.Builder
	command.Stdout, command.Stderr = &said, &said
	if err := process.Run(command); err != nil {
		return fmt.Errorf("encode %s: ffmpeg: %w: %s", name, err, strings.TrimSpace(said.String()))
	}
	if err := os.Chmod(temporary, 0o755); err != nil {
		return fmt.Errorf("encode %s: %w", name, err)
	}
	if err := atomicfile.MoveFolder(temporary, filepath.Join(dir, name)); err != nil {
		return fmt.Errorf("encode %s: %w", name, err)
	}
	return nil
}
