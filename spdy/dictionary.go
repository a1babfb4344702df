package spdy

// dictionary2 initialises the compression of header blocks in version 2 (draft
// 2, "Name/Value header block format"). Its last octet is a NUL.
const dictionary2 = "" +
	"optionsgetheadpostputdeletetraceacceptaccept-charsetaccept-encodingaccept-languageauthorizatione" +
	"xpectfromhostif-modified-sinceif-matchif-none-matchif-rangeif-unmodifiedsincemax-forwardsproxy-a" +
	"uthorizationrangerefererteuser-agent100101200201202203204205206300301302303304305306307400401402" +
	"403404405406407408409410411412413414415416417500501502503504505accept-rangesageetaglocationproxy" +
	"-authenticatepublicretry-afterservervarywarningwww-authenticateallowcontent-basecontent-encoding" +
	"cache-controlconnectiondatetrailertransfer-encodingupgradeviawarningcontent-languagecontent-leng" +
	"thcontent-locationcontent-md5content-rangecontent-typeetagexpireslast-modifiedset-cookieMondayTu" +
	"esdayWednesdayThursdayFridaySaturdaySundayJanFebMarAprMayJunJulAugSepOctNovDecchunkedtext/htmlim" +
	"age/pngimage/jpgimage/gifapplication/xmlapplication/xhtmltext/plainpublicmax-agecharset=iso-8859" +
	"-1utf-8gzipdeflateHTTP/1.1statusversionurl\x00"

// dictionary3 initialises the compression of header blocks in versions 3 and
// 3.1 (section 2.6.10.1).
const dictionary3 = "" +
	"\x00\x00\x00\x07options\x00\x00\x00\x04head\x00\x00\x00\x04post\x00\x00\x00\x03put\x00\x00\x00" +
	"\x06delete\x00\x00\x00\x05trace\x00\x00\x00\x06accept\x00\x00\x00\x0eaccept-charset\x00\x00\x00" +
	"\x0faccept-encoding\x00\x00\x00\x0faccept-language\x00\x00\x00\x0daccept-ranges\x00\x00\x00\x03a" +
	"ge\x00\x00\x00\x05allow\x00\x00\x00\x0dauthorization\x00\x00\x00\x0dcache-control\x00\x00\x00" +
	"\x0aconnection\x00\x00\x00\x0ccontent-base\x00\x00\x00\x10content-encoding\x00\x00\x00\x10conten" +
	"t-language\x00\x00\x00\x0econtent-length\x00\x00\x00\x10content-location\x00\x00\x00\x0bcontent-" +
	"md5\x00\x00\x00\x0dcontent-range\x00\x00\x00\x0ccontent-type\x00\x00\x00\x04date\x00\x00\x00\x04" +
	"etag\x00\x00\x00\x06expect\x00\x00\x00\x07expires\x00\x00\x00\x04from\x00\x00\x00\x04host\x00" +
	"\x00\x00\x08if-match\x00\x00\x00\x11if-modified-since\x00\x00\x00\x0dif-none-match\x00\x00\x00" +
	"\x08if-range\x00\x00\x00\x13if-unmodified-since\x00\x00\x00\x0dlast-modified\x00\x00\x00\x08loca" +
	"tion\x00\x00\x00\x0cmax-forwards\x00\x00\x00\x06pragma\x00\x00\x00\x12proxy-authenticate\x00\x00" +
	"\x00\x13proxy-authorization\x00\x00\x00\x05range\x00\x00\x00\x07referer\x00\x00\x00\x0bretry-aft" +
	"er\x00\x00\x00\x06server\x00\x00\x00\x02te\x00\x00\x00\x07trailer\x00\x00\x00\x11transfer-encodi" +
	"ng\x00\x00\x00\x07upgrade\x00\x00\x00\x0auser-agent\x00\x00\x00\x04vary\x00\x00\x00\x03via\x00" +
	"\x00\x00\x07warning\x00\x00\x00\x10www-authenticate\x00\x00\x00\x06method\x00\x00\x00\x03get\x00" +
	"\x00\x00\x06status\x00\x00\x00\x06200 OK\x00\x00\x00\x07version\x00\x00\x00\x08HTTP/1.1\x00\x00" +
	"\x00\x03url\x00\x00\x00\x06public\x00\x00\x00\x0aset-cookie\x00\x00\x00\x0akeep-alive\x00\x00" +
	"\x00\x06origin1001012012022052063003023033043053063074024054064074084094104114124134144154164175" +
	"02504505203 Non-Authoritative Information204 No Content301 Moved Permanently400 Bad Request401 U" +
	"nauthorized403 Forbidden404 Not Found500 Internal Server Error501 Not Implemented503 Service Una" +
	"vailableJan Feb Mar Apr May Jun Jul Aug Sept Oct Nov Dec 00:00:00 Mon, Tue, Wed, Thu, Fri, Sat, " +
	"Sun, GMTchunked,text/html,image/png,image/jpg,image/gif,application/xml,application/xhtml+xml,te" +
	"xt/plain,text/javascript,publicprivatemax-age=gzip,deflate,sdchcharset=utf-8charset=iso-8859-1,u" +
	"tf-,*,enq=0."
