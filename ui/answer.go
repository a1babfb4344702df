package ui

import (
	"bytes"
	"crypto/sha256"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"strings"

	"wiretime/report"
	"wiretime/store"
)

// Errors that say which status an answer has; their wrappers say the rest.
var (
	errNotFound = errors.New("not found")
	errConflict = errors.New("it cannot be done now")
	errGone     = errors.New("its artefacts were dropped")
	errInput    = errors.New("the request is wrong")
)

// statusOf returns the status that tells of an error.
func statusOf(err error) int {
	switch {
	case errors.Is(err, errNotFound), errors.Is(err, store.ErrNotFound), errors.Is(err, report.ErrNoCell):
		return http.StatusNotFound
	case errors.Is(err, errConflict):
		return http.StatusConflict
	case errors.Is(err, errGone):
		return http.StatusGone
	case errors.Is(err, errInput):
		return http.StatusBadRequest
	case errors.Is(err, store.ErrNotStore), errors.Is(err, store.ErrNewer), errors.Is(err, store.ErrNetwork), errors.Is(err, store.ErrDamaged):
		return http.StatusServiceUnavailable
	}
	return http.StatusInternalServerError
}

// failure is the body of an answer that tells of an error.
type failure struct {
	Error string `json:"error"`
}

func writeError(w http.ResponseWriter, status int, text string) {
	writeStatus(w, status, failure{text})
}

// writeStatus writes a value that is no picture of the store, and so has no ETag.
func writeStatus(w http.ResponseWriter, status int, value any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(value) // whoever asked has gone
}

// encoded is an answer that has been written already.
type encoded []byte

// accepted is an answer to a request that has begun something.
type accepted struct {
	Pid int `json:"pid,omitempty"`
}

// answerJSON writes a value, or the error. encoding/json writes <, > and & as escapes, so that no browser could take the answer
// for anything else.
func answerJSON(w http.ResponseWriter, r *http.Request, value any, err error) {
	var clash *conflict
	switch {
	case errors.As(err, &clash):
		writeStatus(w, http.StatusConflict, clash)
		return
	case err != nil:
		writeError(w, statusOf(err), err.Error())
		return
	}
	body, ok := value.(encoded)
	if !ok {
		if body, err = json.Marshal(value); err != nil {
			writeError(w, http.StatusInternalServerError, "encode the answer: "+err.Error())
			return
		}
	}
	w.Header().Set("Content-Type", "application/json")
	if _, began := value.(accepted); began {
		w.WriteHeader(http.StatusAccepted)
	} else if matches(w, r, body) {
		return
	}
	_, _ = w.Write(body)
}

// matches gives an answer its ETag, and reports whether the browser has it already.
func matches(w http.ResponseWriter, r *http.Request, body []byte) bool {
	tag := fmt.Sprintf(`"%x"`, sha256.Sum256(body))
	w.Header().Set("ETag", tag)
	if r.Header.Get("If-None-Match") != tag {
		return false
	}
	w.WriteHeader(http.StatusNotModified)
	return true
}

// mostBody is how many octets the body of a request may have: a study file as JSON, every octet of it escaped.
const mostBody = 1 << 20

// read decodes the body of a request.
func read(r *http.Request, into any) error {
	kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if err != nil || kind != "application/json" {
		return fmt.Errorf("read the request: %w: its Content-Type must be application/json", errInput)
	}
	body, err := io.ReadAll(io.LimitReader(r.Body, mostBody+1))
	if err != nil {
		return fmt.Errorf("read the request: %w: %w", errInput, err)
	}
	if len(body) > mostBody {
		return fmt.Errorf("read the request: %w: it has more than %d octets", errInput, mostBody)
	}
	from := json.NewDecoder(bytes.NewReader(body))
	from.DisallowUnknownFields()
	if err := from.Decode(into); err != nil {
		return fmt.Errorf("read the request: %w: %w", errInput, err)
	}
	return nil
}

// table is what a spreadsheet opens.
type table struct {
	name string // of the file, without its ending
	rows [][]string
}

func (t *table) add(row ...string) { t.rows = append(t.rows, row) }

// answerTable writes a table as CSV, or the error.
func answerTable(w http.ResponseWriter, t *table, err error) {
	if err != nil {
		writeError(w, statusOf(err), err.Error())
		return
	}
	attach(w, "text/csv; charset=utf-8", t.name+".csv")
	to := csv.NewWriter(w)
	for _, row := range t.rows {
		for i := range row {
			row[i] = store.Inert(row[i])
		}
		_ = to.Write(row) // its error is Error's
	}
	to.Flush()
}

// attach has the browser keep what follows as a file, and never show it.
func attach(w http.ResponseWriter, kind, name string) {
	name = strings.Map(func(r rune) rune {
		if r < ' ' || r > '~' || strings.ContainsRune(`"\/%`, r) {
			return '_'
		}
		return r
	}, name)
	w.Header().Set("Content-Type", kind)
	w.Header().Set("Content-Disposition", `attachment; filename="`+name+`"`)
}
