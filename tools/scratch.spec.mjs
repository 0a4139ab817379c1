import { tmpdir } from 'node:os';
import { scratchBase } from './scratch.mjs';

const mounts = (options) =>
  `/dev/vda / ext4 rw,relatime 0 0\ntmpfs /dev/shm tmpfs ${options} 0 0\n`;
const roomy = { mounts: mounts('rw,nosuid,nodev'), roomBytes: 20e9 };

it('is in memory where programs may be run and enough fits in', () => {
  expect(scratchBase({}, roomy)).toBe('/dev/shm');
});

it.each([
  ['no program may be run in memory', { ...roomy, mounts: mounts('rw,nosuid,noexec') }],
  ['the folder in memory is small', { ...roomy, roomBytes: 64e6 }],
  ['the folder is on a disk', { ...roomy, mounts: '/dev/vda /dev/shm ext4 rw 0 0\n' }],
  ['there is no such folder', { mounts: '', roomBytes: 0 }],
])('is the usual folder if %s', (_, machine) => {
  expect(scratchBase({}, machine)).toBe(tmpdir());
});

it('is the usual folder if somebody chose it', () => {
  expect(scratchBase({ TMPDIR: '/somewhere' }, roomy)).toBe(tmpdir());
});
