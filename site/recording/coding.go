package recording

import (
	"bytes"
	"errors"
	"fmt"
	"strings"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"

	"wiretime/coding"
)

// recode returns the coding in which a site stores a body that was recorded with some
// codings; empty means none. It replaces deflate, which is ambiguous, and codings that some
// browsers lack.
func recode(codings string) string {
	names := strings.Split(strings.ToLower(codings), ",")
	switch last := strings.TrimSpace(names[len(names)-1]); last {
	case "", "identity", "none":
		return ""
	case "br", "zstd":
		return last
	}
	return "gzip"
}

// levels holds the level of each coding that bodies are given: the library's default, and for
// br the level of servers that compress on the fly.
var levels = map[string]int{"gzip": gzip.DefaultCompression, "br": 5, "zstd": int(zstd.SpeedDefault)}

// coder encodes content. It reuses its writers, which are large. The zero value is ready to
// use.
type coder struct{ writers map[string]coding.Writer }

// encode applies a coding, unless its name is empty. The same content always gives the same
// octets.
func (c *coder) encode(content []byte, name string) ([]byte, error) {
	if name == "" {
		return content, nil
	}
	var b bytes.Buffer
	w := c.writers[name]
	if w == nil {
		level, ok := levels[name]
		if !ok {
			return nil, fmt.Errorf("encode a body: unknown coding %q", name)
		}
		var err error
		if w, err = coding.NewWriter(name, nil, level); err != nil {
			return nil, fmt.Errorf("encode a body: %w", err)
		}
		if c.writers == nil {
			c.writers = map[string]coding.Writer{}
		}
		c.writers[name] = w
	}
	w.Reset(&b)
	_, err := w.Write(content)
	if err = errors.Join(err, w.Close()); err != nil {
		return nil, fmt.Errorf("encode a body as %q: %w", name, err)
	}
	return b.Bytes(), nil
}
