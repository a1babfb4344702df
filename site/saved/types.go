package saved

import (
	"bytes"
	"net/http"
)

// contentTypes maps the extensions of saved files to the types registered with IANA.
var contentTypes = map[string]string{
	".avif": "image/avif", ".bmp": "image/bmp", ".css": "text/css", ".gif": "image/gif", ".htm": "text/html", ".html": "text/html",
	".ico": "image/vnd.microsoft.icon", ".jpeg": "image/jpeg", ".jpg": "image/jpeg", ".js": "text/javascript", ".json": "application/json",
	".mjs": "text/javascript", ".mp3": "audio/mpeg", ".mp4": "video/mp4", ".ogg": "audio/ogg", ".otf": "font/otf", ".pdf": "application/pdf",
	".png": "image/png", ".svg": "image/svg+xml", ".ttf": "font/ttf", ".txt": "text/plain", ".webm": "video/webm", ".webp": "image/webp",
	".woff": "font/woff", ".woff2": "font/woff2", ".xht": "application/xhtml+xml", ".xhtml": "application/xhtml+xml", ".xml": "text/xml",
}

// sniff guesses a type from the first octets, as browsers do.
func sniff(body []byte) string {
	if bytes.HasPrefix(bytes.TrimSpace(body[:min(len(body), 512)]), []byte("<svg")) {
		return "image/svg+xml"
	}
	return http.DetectContentType(body)
}
