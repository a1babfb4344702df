(at, high, low) => {
	const mark = Symbol.for("wiretime.frozen");
	if (Date[mark]) return;
	const RealDate = Date;
	const {construct} = Reflect; // before a page has its own

	const replace = (object, name, value) => {
		if (!object || !(name in object)) return;
		Object.defineProperty(value, "name", {value: name, configurable: true});
		Object.defineProperty(object, name, {value, writable: true, enumerable: object !== RealDate && object !== Math, configurable: true});
	};

	let looks = 0;
	const now = () => at + looks - looks++ % 1000; // a second for each thousand looks
	replace(RealDate, "now", () => now());
	const FrozenDate = new Proxy(RealDate, {
		apply: () => new RealDate(now()).toString(),
		construct: (target, values, made) => construct(target, values.length ? values : [now()], made),
	});
	Object.defineProperty(RealDate, mark, {value: true});
	Object.defineProperty(RealDate.prototype, "constructor", {value: FrozenDate, writable: true, configurable: true});
	Object.defineProperty(globalThis, "Date", {value: FrozenDate, writable: true, configurable: true});

	// The generators start when they are first drawn from: a worker that has not begun does
	// not know yet where it is. The name of a blob is drawn by the browser.
	const place = () => {
		const url = String(globalThis.location ?? "");
		let hash = 0x811c9dc5; // FNV-1a, 32 bits
		for (const c of url.startsWith("blob:") ? "blob:" : url) hash = Math.imul(hash ^ c.charCodeAt(0), 0x01000193);
		return hash;
	};
	// sfc32 (Doty-Humphrey, PractRand): 32 bits at a time.
	const generator = (use) => {
		let [a, b, c, count] = [high, low, 0, 0];
		const next = () => {
			const sum = (a + b + count++) | 0;
			a = b ^ (b >>> 9);
			b = (c + (c << 3)) | 0;
			c = (((c << 21) | (c >>> 11)) + sum) | 0;
			return sum >>> 0;
		};
		return () => {
			if (count === 0) {
				[c, count] = [place() ^ use, 1];
				for (let i = 0; i < 12; i++) next();
			}
			return next();
		};
	};
	const chance = generator(1);
	replace(Math, "random", () => ((chance() >>> 5) * 0x4000000 + (chance() >>> 6)) / 0x20000000000000);

	const real = globalThis.crypto && Object.getPrototypeOf(crypto);
	if (!real) return;
	const secret = generator(2);
	const {getRandomValues, randomUUID} = real;
	const fill = (octets) => {
		for (let i = 0; i < octets.length; i++) octets[i] = secret();
		return octets;
	};
	replace(real, "getRandomValues", function (array) {
		getRandomValues.call(this, array); // refuses what it should
		fill(new Uint8Array(array.buffer, array.byteOffset, array.byteLength));
		return array;
	});
	if (!randomUUID) return;
	replace(real, "randomUUID", function () {
		randomUUID.call(this);
		const octets = fill(new Uint8Array(16));
		octets[6] = octets[6] & 0x0f | 0x40; // RFC 9562, section 5.4
		octets[8] = octets[8] & 0x3f | 0x80;
		const hex = Array.from(octets, (o) => o.toString(16).padStart(2, "0")).join("");
		return hex.replace(/^(.{8})(.{4})(.{4})(.{4})/, "$1-$2-$3-$4-");
	});
}
