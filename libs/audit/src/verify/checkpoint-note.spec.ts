import { readCheckpointNote } from './checkpoint-note.js';

const rootHash = Buffer.alloc(32, 7).toString('base64');
const note = `pis.example/log\n42\n${rootHash}\n\n— pis.example/log AAAA\n`;

it('reads size and root of a note', () => {
  expect(readCheckpointNote(note)).toEqual({ origin: 'pis.example/log', treeSize: 42, rootHash });
});

it.each([
  '',
  'anything else',
  note.replace('42', '-1'),
  note.replace('42', '042'),
  note.replace(rootHash, 'AAAA'),
  note.replace(rootHash, 'no base64'),
  note.replace('— ', ''),
])('refuses %j', (text) => {
  expect(() => readCheckpointNote(text)).toThrow('not a checkpoint note');
});
