import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import path from 'node:path';
import process from 'node:process';
import { Client } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { dependencies, version } from '../../../package.json';

const root = path.resolve(import.meta.dirname, '../../..');
const npm = process.platform === 'win32' ? 'npm.cmd' : 'npm';
/** Of the tarball: what someone waits for who runs it with npx. */
const mostBytes = 1_500_000;

/** Binaries of Node that the package runs on. */
const nodes = (process.env['TERAPIPE_NODES'] ?? process.execPath).split(path.delimiter);

for (const node of nodes) describePackage(node);

function describePackage(node: string): void {
  describe(`the npm package, installed in an empty folder, on Node ${execFileSync(node, ['--version'], { encoding: 'utf8' }).trim()}`, () => {
    let folder: string;
    let tarball: string;
    const env = () => ({
      ...process.env,
      XDG_CACHE_HOME: folder,
      PATH: `${path.dirname(node)}${path.delimiter}${process.env['PATH'] ?? ''}`,
    });
    const run = (file: string, args: readonly string[] = []) =>
      spawnSync(node, [file, ...args], { cwd: folder, encoding: 'utf8', env: env() });
    const terapipe = (...args: readonly string[]) => run(path.join(folder, 'node_modules/terapipe/dist/cli.js'), args);
    const script = (name: string, text: string) => {
      writeFileSync(path.join(folder, name), text);
      return run(path.join(folder, name));
    };
    before(() => {
      folder = mkdtempSync(path.join(tmpdir(), 'terapipe-npm-'));
      const pack = [path.join(root, 'test/harness/pack-npm.mjs'), '--production', '--out', folder];
      const printed = execFileSync(process.execPath, pack, { cwd: root, encoding: 'utf8' });
      tarball = printed.trim();
      writeFileSync(path.join(folder, 'package.json'), '{"private": true}');
      const shell = process.platform === 'win32';
      execFileSync(npm, ['install', '--offline', '--no-audit', '--no-fund', tarball], { cwd: folder, stdio: 'pipe', shell });
    });
    after(() => {
      rmSync(folder, { recursive: true, force: true });
    });

    it('is small, and has no part of the editor', () => {
      assert.equal(path.basename(tarball), `terapipe-${version}.tgz`);
      assert.ok(statSync(tarball).size < mostBytes, `${statSync(tarball).size} bytes`);
      const names = execFileSync('tar', ['tzf', tarball], { encoding: 'utf8' }).split('\n');
      const others = names.filter((name) => /webview|extension|worker|page|\.map$|media|vscode/.test(name));
      assert.deepEqual(others, []);
      for (const name of ['LICENSE', 'README.md', 'THIRD_PARTY_NOTICES.md', 'docs/findings.md', 'dist/api.d.ts'])
        assert.ok(names.includes(`package/${name}`), name);
    });

    it('runs commands: its version, a plan, a check with the pages of findings', () => {
      assert.equal(terapipe('--version').stdout, `${version}\n`);
      const config = path.join(root, 'media/samples/llama3-8b/config.json');
      const planned = terapipe('plan', config, '--gpu', 'H100-80GB', '--json');
      assert.equal((JSON.parse(planned.stdout) as { plan: { fits: boolean } }).plan.fits, true, planned.stderr);
      const checked = terapipe('check', path.join(root, 'test/fixtures/launchers/megatron.args'), '--format', 'sarif');
      assert.match(checked.stdout, /Right to ignore when/);
      assert.equal(checked.status, 1);
    });

    it('runs by npx, as it is installed', () => {
      const shell = process.platform === 'win32';
      const options = { cwd: folder, encoding: 'utf8', shell, env: env() } as const;
      assert.equal(execFileSync(shell ? 'npx.cmd' : 'npx', ['--offline', 'terapipe', '--version'], options), `${version}\n`);
    });

    it('serves agents, and writes their skill', async () => {
      const client = new Client({ name: 'test', version: '1' });
      const args = [path.join(folder, 'node_modules/terapipe/dist/cli.js'), 'mcp', path.join(root, 'media/samples')];
      await client.connect(new StdioClientTransport({ command: node, args, stderr: 'pipe' }));
      try {
        const { tools } = await client.listTools();
        assert.equal(tools.length, 15);
        const asked = { path: 'llama3-8b/config.json', gpu: 'H100-80GB', nodes: 1 };
        const { structuredContent } = await client.callTool({ name: 'terapipe_plan', arguments: asked });
        assert.equal(typeof (structuredContent as { readonly stepMs?: unknown }).stepMs, 'number');
      } finally {
        await client.close();
      }
      assert.match(terapipe('skill').stdout, /^---\nname: terapipe\n/);
    });

    it('has the schemas of answers', () => {
      const file = createRequire(path.join(folder, 'a.cjs')).resolve('terapipe/schemas/answers.schema.json');
      assert.ok('PlanAnswer' in (JSON.parse(readFileSync(file, 'utf8')) as { readonly definitions: object }).definitions);
    });

    it('names ONNX Runtime where profiling needs it', () => {
      const { stdout, stderr } = terapipe('profile', path.join(root, 'media/samples/llama3-8b/config.json'), '--provider', 'cpu');
      const [supported = ''] = /^\d+\.\d+/.exec(dependencies['onnxruntime-node']) ?? [];
      assert.ok(`${stdout}${stderr}`.includes(`onnxruntime-node@${supported} --ignore-scripts`), stderr);
      const manifest = JSON.parse(readFileSync(path.join(root, 'packages/cli/package.json'), 'utf8')) as {
        readonly peerDependencies: Readonly<Record<string, string>>;
      };
      assert.equal(manifest.peerDependencies['onnxruntime-node'], `${supported}.x`);
    });

    it('is imported and required with the same names, and its manifest is reached', () => {
      const names = "'check, diff, elastic, export, load, memory, plan, prefill, search, simulate, solve, TerapipeError'";
      const found = "Object.keys(terapipe).filter((name) => !['default', 'module.exports', '__esModule'].includes(name)).sort((a, b) => a.localeCompare(b)).join(', ')"; // prettier-ignore
      const check = `assert.equal(${found}, ${names});`;
      const imported = script('a.mjs', `import assert from 'node:assert/strict';\nimport * as terapipe from 'terapipe';\n${check}`);
      assert.equal(imported.status, 0, imported.stderr);
      const required = script('a.cjs', `const assert = require('node:assert/strict');\nconst terapipe = require('terapipe');\n${check}`);
      assert.equal(required.status, 0, required.stderr);
      const { version: installed } = createRequire(path.join(folder, 'a.cjs'))('terapipe/package.json') as { readonly version: string };
      assert.equal(installed, version);
    });

    it('has types that hold under strict checks', () => {
      const text = `import { check, load, plan, TerapipeError, type Finding, type PlanAnswer } from 'terapipe';
export async function steps(): Promise<number> {
  const config = await load('config.json', { gpu: 'H100-80GB', signal: new AbortController().signal });
  const answer: PlanAnswer = await plan(config, { set: { 'layout.tensor': 8 }, schedules: ['1F1B'] });
  const findings: readonly Finding[] = (await check(['configs'], { severity: 'error' })).findings;
  if (findings.length > 0) throw new TerapipeError({ code: 'a', message: 'b', remedy: 'c', file: null, line: null, column: null });
  // @ts-expect-error a step is a number
  const wrong: string = answer.plan.iterationMs;
  return answer.plan.iterationMs + wrong.length;
}
`;
      const file = path.join(folder, 'a.mts');
      writeFileSync(file, text);
      const options = [
        '--noEmit',
        '--strict',
        '--exactOptionalPropertyTypes',
        '--module',
        'nodenext',
        '--lib',
        'es2023,dom',
        '--typeRoots',
        path.join(folder, 'none'),
      ];
      const { status, stdout } = run(path.join(root, 'node_modules/typescript/bin/tsc'), [...options, file]);
      assert.equal(status, 0, stdout);
    });

    it('does what every example of docs/api.md states', () => {
      const page = readFileSync(path.join(root, 'docs/api.md'), 'utf8');
      const examples = [...page.matchAll(/```js\n([\s\S]*?)```/g)].map(([, code = '']) => `{\n${code}}`);
      assert.ok(examples.length >= 4);
      const head = `import assert from 'node:assert/strict';\nimport * as terapipe from 'terapipe';\nconst { check, diff, elastic, load, memory, plan, prefill, search, simulate, solve, TerapipeError } = terapipe;\nprocess.chdir(${JSON.stringify(root)});\n`;
      const { status, stderr } = script('examples.mjs', head + examples.join('\n'));
      assert.equal(status, 0, stderr);
    });
  });
}
