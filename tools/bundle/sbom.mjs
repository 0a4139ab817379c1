/** The software bill of materials of the bundle (CycloneDX), by npm's own command. */
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { commandEnv, root } from '../workspace.mjs';

const outputMaxBytes = 64 * 1024 * 1024;
/** Not --omit=dev: npm then leaves out packages that one project needs at run time and another for its tests. */
const command = ['sbom', '--package-lock-only', '--sbom-format=cyclonedx'];

/**
 * npm describes the lock file. The bundle leaves out what only builds use, so its bill names `packages` (name@version) alone. The
 * same bundle has the same bill: without the time of its making, and with a serial number made of its content.
 */
export function sbomOf({ name, version }, packages) {
  const { status, stdout, stderr } = spawnSync('npm', command, {
    cwd: root,
    encoding: 'utf8',
    maxBuffer: outputMaxBytes,
    env: commandEnv(),
  });
  if (status !== 0) throw new Error(`npm sbom failed: ${stderr.trim()}`);
  const { metadata, components, dependencies, ...rest } = JSON.parse(stdout);
  const self = metadata.component['bom-ref'];
  const isThere = (ref) => ref === self || packages.has(ref);
  const content = {
    metadata: {
      lifecycles: metadata.lifecycles,
      tools: metadata.tools,
      // npm calls it by the name of its folder.
      component: { ...metadata.component, type: 'application', name, version },
    },
    components: sorted(
      components.filter((one) => packages.has(one['bom-ref'])),
      'bom-ref',
    ),
    dependencies: sorted(dependencies, 'ref')
      .filter(({ ref }) => isThere(ref))
      .map(({ ref, dependsOn }) => ({ ref, dependsOn: dependsOn.filter(isThere).sort() })),
  };
  const missing = [...packages].filter((ref) => !components.some((one) => one['bom-ref'] === ref));
  if (missing.length > 0) throw new Error(`npm sbom does not name ${missing.join(', ')}`);
  return { ...rest, serialNumber: `urn:uuid:${uuidOf(JSON.stringify(content))}`, ...content };
}

function sorted(items, key) {
  return items.toSorted((a, b) => (a[key] < b[key] ? -1 : 1));
}

/** A UUID of version 8 (RFC 9562): its bits are a hash. */
function uuidOf(text) {
  const bytes = createHash('sha256').update(text).digest().subarray(0, 16);
  bytes[6] = (bytes[6] & 0x0f) | 0x80;
  bytes[8] = (bytes[8] & 0x3f) | 0x80;
  return bytes.toString('hex').replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5');
}
