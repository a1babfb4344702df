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

// recode is the coding in which a site keeps what was recorded with some codings; empty:
// none. deflate is ambiguous, and others than these are not for everyone.
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

// levels are those of the codings that bodies are given: what the libraries take by themselves,
// and for br what servers use that compress as they answer.
var levels = map[string]int{"gzip": gzip.DefaultCompression, "br": 5, "zstd": int(zstd.SpeedDefault)}

// coder codes content. It keeps its writers, which are large. The zero value is ready.
type coder struct{ writers map[string]coding.Writer }

// encode codes content, unless the coding has no name. The same content gives the same octets.
func (c *coder) encode(content []byte, name string) ([]byte, error) {
	if name == "" {
		return content, nil
	}
	var b bytes.Buffer
	w := c.writers[name]
	if w == nil {
		level, ok := levels[name]
		if !ok {
			return nil, fmt.Errorf("code a body: the coding %q is not known", name)
		}
		var err error
		if w, err = coding.NewWriter(name, nil, level); err != nil {
			return nil, fmt.Errorf("code a body: %w", err)
		}
		if c.writers == nil {
			c.writers = map[string]coding.Writer{}
		}
		c.writers[name] = w
	}
	w.Reset(&b)
	_, err := w.Write(content)
	if err = errors.Join(err, w.Close()); err != nil {
		return nil, fmt.Errorf("code a body as %q: %w", name, err)
	}
	return b.Bytes(), nil
}
