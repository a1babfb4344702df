package site

import (
	"bytes"
	"fmt"
	"html/template"
)

// uploadName is the name of the made site of uploads.
const uploadName = "upload"

// Upload makes a site of one page whose script posts a number of octets, those of protocol.UploadContent, to the page's own
// URL. The load event waits for the answer, because the document of an inner frame stays open until then.
func Upload(octets int64) (*Site, error) {
	const host = "www." + uploadName + ".test"
	s := &Site{
		Name: uploadName, Title: "a page that posts " + formatSize(octets), Source: "made by Wiretime",
		Page: "https://" + host + "/", bodies: map[string][]byte{},
	}
	var page bytes.Buffer
	err := uploadPage.Execute(&page, octets)
	if err == nil {
		s.addMadePage(s.Page, page.Bytes())
		err = s.build()
	}
	if err != nil {
		return nil, fmt.Errorf("make %s: %w", uploadName, err)
	}
	return s, nil
}

var uploadPage = template.Must(template.New(uploadName).Parse(`<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<title>Upload</title>
<link rel="icon" href="data:,">
</head>
<body>
<iframe></iframe>
<script>
const octets = {{.}};
const numbers = new Uint32Array(Math.ceil(octets / 4));
for (let i = 0; i < numbers.length; i++) numbers[i] = i;
const inner = document.querySelector("iframe").contentDocument;
inner.open();
fetch("", {method: "POST", body: new Blob([new Uint8Array(numbers.buffer, 0, octets)])})
  .then((answer) => answer.text())
  .finally(() => inner.close());
</script>
</body>
</html>
`))
