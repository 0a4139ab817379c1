/**
 * Verifies a bundle that `pis audit export` wrote, offline: node tools/verifier/verify.mjs BUNDLE --key VERIFIER_KEY
 *
 * Shares no code with the service and needs nothing but Node.js, so that an auditor can read all of it. It checks that
 * the checkpoint is signed by the key (C2SP signed-note, Ed25519), that every leaf is in the tree that the checkpoint
 * signs (RFC 6962, SHA-256), and that the leaves are the events 0, 1, 2, … of the payment. It
 * cannot tell whether the payment has later events that the bundle leaves out.
 *
 * Exits with 0 when all of it holds, and with 1 and the reason on stderr otherwise.
 */
import { createHash, createPublicKey, verify } from 'node:crypto';
import { readFileSync, realpathSync } from 'node:fs';
import { pathToFileURL } from 'node:url';

class Invalid extends Error {}

const uuid = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

function argumentsOf(given) {
  const at = given.indexOf('--key');
  const key = at === -1 ? undefined : given[at + 1];
  const [file, ...more] = given.filter(
    (_, index) => at === -1 || (index !== at && index !== at + 1),
  );
  if (file === undefined || key === undefined || more.length > 0)
    throw new Invalid('usage: node tools/verifier/verify.mjs BUNDLE --key VERIFIER_KEY');
  return { file, key };
}

function textOf(file) {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(readFileSync(file));
  } catch (error) {
    throw new Invalid(`${file} cannot be read as UTF-8: ${error.message}`);
  }
}

/** @throws when anything does not hold */
export function verifyBundle(text, key) {
  const bundle = fields(JSON.parse(text), ['paymentId', 'checkpoint', 'treeSize', 'events']);
  // One way to write a bundle, so that no byte of it is beyond the proof.
  if (text !== `${JSON.stringify(bundle, null, 2)}\n`)
    throw new Invalid('the bundle is not written as pis audit export writes it');
  // Values of other types would read the same in a comparison of texts.
  if (typeof bundle.paymentId !== 'string' || !uuid.test(bundle.paymentId))
    throw new Invalid('paymentId is not a UUID');
  if (typeof bundle.checkpoint !== 'string') throw new Invalid('the checkpoint is not a text');
  const tree = checkpointOf(bundle.checkpoint, keyOf(key));
  if (bundle.treeSize !== tree.size) throw new Invalid('treeSize is not that of the checkpoint');
  const streamId = `payment-${bundle.paymentId}`;
  if (bundle.events.length === 0) throw new Invalid('the bundle has no events');
  for (const [revision, given] of bundle.events.entries()) {
    const event = fields(given, ['index', 'leaf', 'proof']);
    const bytes = bytesOf(event.leaf);
    checkLeaf(bytes, { streamId, revision });
    const path = event.proof.map(bytesOf);
    const root = rootOf(sha256(Buffer.of(0), bytes), event.index, tree.size, path);
    if (root === null || !root.equals(tree.root))
      throw new Invalid(`event ${revision} of ${streamId} is not in the signed log`);
  }
  return { streamId, treeSize: tree.size, events: bundle.events.length };
}

/** An object with exactly these fields, in this order. */
function fields(value, names) {
  if (JSON.stringify(Object.keys(value)) !== JSON.stringify(names))
    throw new Invalid(`fields are not ${names.join(', ')}`);
  return value;
}

/** `name+hash+base64` of C2SP signed-note. */
function keyOf(text) {
  const [, name, hash, encoded] = /^([^\s+]+)\+([0-9a-f]{8})\+(.+)$/.exec(text) ?? [];
  if (name === undefined) throw new Invalid('the verifier key is not name+hash+base64');
  const bytes = bytesOf(encoded);
  if (bytes.length !== 33 || bytes[0] !== 1) throw new Invalid('the key is not of Ed25519');
  const keyHash = sha256(Buffer.from(`${name}\n`), bytes).subarray(0, 4);
  if (keyHash.toString('hex') !== hash) throw new Invalid('the hash of the verifier key is wrong');
  const x = bytes.subarray(1).toString('base64url');
  const publicKey = createPublicKey({ key: { kty: 'OKP', crv: 'Ed25519', x }, format: 'jwk' });
  return { name, keyHash, publicKey };
}

/** Text of C2SP tlog-checkpoint, an empty line, one signature. */
function checkpointOf(note, { name, keyHash, publicKey }) {
  const [, text, by, signature] = /^((?:[^\n]+\n){3})\n— (\S+) (\S+)\n$/.exec(note) ?? [];
  if (text === undefined) throw new Invalid('the checkpoint is not a note with one signature');
  const [origin, size, root] = text.split('\n');
  if (by !== name || origin !== name) throw new Invalid('the checkpoint is of another key');
  const bytes = bytesOf(signature);
  if (!bytes.subarray(0, 4).equals(keyHash)) throw new Invalid('the checkpoint is of another key');
  if (!verify(null, Buffer.from(text), publicKey, bytes.subarray(4)))
    throw new Invalid('the signature of the checkpoint is wrong');
  if (!/^[1-9]\d{0,15}$/.test(size) || !Number.isSafeInteger(Number(size)))
    throw new Invalid('the checkpoint has no size');
  return { size: Number(size), root: bytesOf(root) };
}

const leafFields = ['eventHash', 'id', 'recordedAt', 'revision', 'streamId', 'type'];

/** Canonical JSON: whoever reads the leaf with another parser reads the same. */
function checkLeaf(bytes, expected) {
  const leaf = fields(JSON.parse(bytes.toString('utf8')), leafFields);
  if (!bytes.equals(Buffer.from(JSON.stringify(leaf))))
    throw new Invalid('a leaf is not canonical JSON');
  for (const [field, value] of Object.entries(expected))
    if (leaf[field] !== value)
      throw new Invalid(`a leaf has the ${field} ${leaf[field]}, not ${value}`);
}

/** RFC 9162, section 2.1.3.2; null for a path of the wrong length. */
function rootOf(leafHash, index, size, path) {
  if (!Number.isSafeInteger(index) || index < 0 || index >= size) return null;
  let [own, last, root] = [index, size - 1, leafHash];
  const up = () => ([own, last] = [Math.floor(own / 2), Math.floor(last / 2)]);
  for (const sibling of path) {
    if (last === 0 || sibling.length !== 32) return null;
    if (own % 2 === 1 || own === last) {
      root = sha256(Buffer.of(1), sibling, root);
      while (own % 2 === 0 && own !== 0) up();
    } else root = sha256(Buffer.of(1), root, sibling);
    up();
  }
  return last === 0 ? root : null;
}

/** Standard base64, in its one spelling. */
function bytesOf(text) {
  const bytes = Buffer.from(text, 'base64');
  if (bytes.toString('base64') !== text) throw new Invalid('a value is not base64');
  return bytes;
}

function sha256(...parts) {
  return createHash('sha256').update(Buffer.concat(parts)).digest();
}

/** For a terminal, which would obey control characters of the bundle and turn the direction of a line. */
function shown(text) {
  return text.replace(/\p{C}/gu, (one) => `\\u{${one.codePointAt(0).toString(16)}}`);
}

if (
  process.argv[1] !== undefined &&
  import.meta.url === pathToFileURL(realpathSync(process.argv[1])).href
)
  try {
    const { file, key } = argumentsOf(process.argv.slice(2));
    const { streamId, treeSize, events } = verifyBundle(textOf(file), key);
    console.log(`ok: ${events} events of ${streamId} are in the log of ${treeSize} events`);
  } catch (error) {
    const reason = error instanceof Invalid ? error.message : `the bundle is malformed: ${error}`;
    console.error(shown(reason));
    process.exitCode = 1;
  }
