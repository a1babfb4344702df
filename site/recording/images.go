package recording

import (
	"encoding/base64"
	"encoding/binary"
)

// These are the smallest images of one pixel. Decoders ignore octets after the image, but
// browsers load a body to its end only if they can decode its beginning.
var (
	gifPixel  = pixel("R0lGODlhAQABAIAAAP///wAAACwAAAAAAQABAAACAkQBADs=")
	pngPixel  = pixel("iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAAAAAA6fptVAAAACklEQVR4nGNgAAAAAgABSK+kcQAAAABJRU5ErkJggg==")
	jpegPixel = pixel("/9j/4AAQSkZJRgABAQEASABIAAD/2wBDAP//////////////////////////////////////////////////////////////////////////////////////wAALCAABAAEBAREA/8QAFAABAAAAAAAAAAAAAAAAAAAAA//EABQQAQAAAAAAAAAAAAAAAAAAAAD/2gAIAQEAAD8AR//Z")
	webpPixel = pixel("UklGRiIAAABXRUJQVlA4IBYAAAAwAQCdASoBAAEADsD+JaQAA3AAAAAA")
)

func pixel(text string) string {
	b, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		panic(err) // the constant above is invalid
	}
	return string(b)
}

// imageSkeleton returns an image of a type. For an unknown type it returns octets that
// browsers do not recognise as an image. It truncates an image that must be smaller than
// one pixel needs.
func imageSkeleton(media string, size int64) *skeleton {
	image := ""
	switch media {
	case "image/gif":
		image = gifPixel
	case "image/png", "image/x-png", "image/apng":
		image = pngPixel
	case "image/jpeg", "image/jpg", "image/pjpeg":
		image = jpegPixel
	case "image/webp":
		image = webpPixel
	case "image/x-icon", "image/vnd.microsoft.icon":
		image = icon()
	}
	return &skeleton{pieces: []string{image[:min(int64(len(image)), size)], ""}, pad: "\x00", binary: true}
}

// icon returns an ICO file that holds a PNG image.
func icon() string {
	var b []byte
	b = binary.LittleEndian.AppendUint16(b, 0)
	b = binary.LittleEndian.AppendUint16(b, 1) // type: icon
	b = binary.LittleEndian.AppendUint16(b, 1) // number of images
	b = append(b, 1, 1, 0, 0)                  // one pixel wide and high, no palette
	b = binary.LittleEndian.AppendUint16(b, 1)
	b = binary.LittleEndian.AppendUint16(b, 32)
	b = binary.LittleEndian.AppendUint32(b, uint32(len(pngPixel)))
	b = binary.LittleEndian.AppendUint32(b, 22) // offset of the image
	return string(b) + pngPixel
}
