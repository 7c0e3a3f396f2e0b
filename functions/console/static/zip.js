// One file of several, as ZIP has it (APPNOTE.TXT of PKWARE), without compression: everything here is downloaded once.

const LOCAL = 0x04034b50;
const CENTRAL = 0x02014b50;
const END = 0x06054b50;
const VERSION = 20;
/** Names are UTF-8. */
const FLAGS = 0x0800;
/** The first day that ZIP knows, so that the same files make the same package. */
const DAY = 0x0021;
/** Sizes have 32 bits. */
const MAX_BYTES = 0xffff_fffe;

const TABLE = Uint32Array.from({ length: 256 }, (_, byte) => {
  let sum = byte;
  for (let bit = 0; bit < 8; bit += 1) sum = sum & 1 ? 0xedb88320 ^ (sum >>> 1) : sum >>> 1;
  return sum;
});

/** @param {Uint8Array} data */
function crc32(data) {
  let sum = 0xffff_ffff;
  for (const byte of data) sum = (TABLE[(sum ^ byte) & 0xff] ?? 0) ^ (sum >>> 8);
  return (sum ^ 0xffff_ffff) >>> 0;
}

/** Numbers one after the other, little-endian, each with its size in bytes. @param {[number, 2 | 4][]} numbers */
function record(numbers) {
  const bytes = new DataView(new ArrayBuffer(numbers.reduce((sum, [, size]) => sum + size, 0)));
  let at = 0;
  for (const [number, size] of numbers) {
    if (size === 2) bytes.setUint16(at, number, true);
    else bytes.setUint32(at, number, true);
    at += size;
  }
  return bytes.buffer;
}

/** @param {{name: string, data: Uint8Array<ArrayBuffer>}[]} files */
export function zip(files) {
  /** @type {BlobPart[]} */
  const parts = [];
  /** @type {BlobPart[]} */
  const index = [];
  let [at, indexBytes] = [0, 0];
  for (const { name, data } of files) {
    const named = new TextEncoder().encode(name);
    /** @type {[number, 2 | 4][]} */
    const about = [[VERSION, 2], [FLAGS, 2], [0, 2], [0, 2], [DAY, 2], [crc32(data), 4], [data.length, 4], [data.length, 4], [named.length, 2], [0, 2]];
    const head = record([[LOCAL, 4], ...about]);
    const entry = record([[CENTRAL, 4], [VERSION, 2], ...about, [0, 2], [0, 2], [0, 2], [0, 4], [at, 4]]);
    parts.push(head, named, data);
    index.push(entry, named);
    at += head.byteLength + named.length + data.length;
    indexBytes += entry.byteLength + named.length;
    if (at > MAX_BYTES) throw new Error("The package would be too large: download its parts.");
  }
  const end = record([[END, 4], [0, 2], [0, 2], [files.length, 2], [files.length, 2], [indexBytes, 4], [at, 4], [0, 2]]);
  return new Blob([...parts, ...index, end], { type: "application/zip" });
}
