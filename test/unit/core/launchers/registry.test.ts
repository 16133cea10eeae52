import assert from 'node:assert/strict';
import { existsSync, readFileSync, readdirSync } from 'node:fs';
import path from 'node:path';
import { before, describe, it } from 'mocha';
import type { LauncherFormat } from '../../../../src/core/run/config-format';
import type { LauncherReader } from '../../../../src/core/run/facts';
import { glanceAt } from '../../../../src/core/launchers/launcher';
import { launcherFormats, launchers } from '../../../../src/core/launchers/registry';
import { configEndings, loadReader, recogniseConfig, unknownFormat } from '../../../../src/core/config-files/readers';
import { rules } from '../../../../src/core/rules/table';
import { editors } from '../export/launchers/editors';
import { shellReader } from './shell/shell-reader';
import { ExpectedError } from '../../../../src/core/errors';
import { say } from '../../../../src/core/sentence';

const root = path.join(import.meta.dirname, '../../../..');

/** A file of each launcher under test/fixtures/launchers. */
const examples: Readonly<Record<LauncherFormat, string>> = {
  deepspeed: 'deepspeed.json',
  'megatron-yaml': 'megatron-arguments.yaml',
  nemo: 'nemo.yaml',
  'megatron-bridge': 'megatron-bridge.yaml',
  'gpt-neox': 'gpt-neox.yml',
  primus: 'primus.yaml',
  'primus-torchtitan': 'primus-torchtitan.yaml',
  'primus-bridge': 'primus-bridge.yaml',
  flagscale: 'flagscale.yaml',
  'nemo-rl': 'nemo-rl.yaml',
  nanotron: 'nanotron.yaml',
  picotron: 'picotron.json',
  veomni: 'veomni.yaml',
  lingua: 'lingua.yaml',
  roll: 'roll.yaml',
  chatlearn: 'chatlearn.yaml',
  'fast-llm': 'fast-llm.yaml',
  areal: 'areal.yaml',
  'llm-foundry': 'llm-foundry.yaml',
  'prime-rl': 'prime-rl.toml',
  'arctic-training': 'arctic-training.yml',
  nxdt: 'nxdt.yaml',
  'hf-trainer': 'hf-trainer.yaml',
  accelerate: 'accelerate.yaml',
  automodel: 'automodel.yaml',
  torchtune: 'torchtune.yaml',
  torchtitan: 'torchtitan-2025.toml',
  'torchtitan-python': 'config_registry.py',
  'bridge-python': 'recipes/bridge.py',
  internevo: 'configs/internevo.py',
  'megatron-shell': 'megatron-moe.sh',
  nanochat: 'nanochat.sh',
  'moe-modelzoo': 'moe-modelzoo.sh',
  maxtext: 'maxtext.yml',
  'maxtext-shell': 'maxtext.sh',
  levanter: 'levanter.yaml',
  cerebras: 'cerebras.yaml',
  'megatron-swift': 'megatron-swift.sh',
  'megatron-swift-yaml': 'megatron-swift.yaml',
  verl: 'verl.sh',
  openrlhf: 'openrlhf.sh',
  'trainer-shell': 'trainer.sh',
  mlperf: 'mlperf/config_GB300_32x4x288xtp2pp8cp2_cg.sh',
};

/**
 * Languages of VS Code by the endings of their files; a file of another ending is known by its pattern once something else has started the
 * extension.
 */
const languages: Readonly<Record<string, string>> = { json: 'json', jsonc: 'jsonc', yaml: 'yaml', yml: 'yaml', toml: 'toml', sh: 'shellscript', bash: 'shellscript', slurm: 'shellscript', sbatch: 'shellscript' }; // prettier-ignore

describe('launchers', () => {
  let shell: LauncherReader;
  before(async () => {
    shell = await shellReader();
  });

  for (const format of launcherFormats) {
    const file = examples[format];
    const text = readFileSync(path.join(root, 'test/fixtures/launchers', file), 'utf8');

    it(`${format}: its example is known by content, as only its own`, () => {
      const { endings, namedEndings = [] } = launchers[format];
      assert.ok([...endings, ...namedEndings].some((ending) => file.endsWith(`.${ending}`)));
      assert.equal(recogniseConfig(file, text), format);
      const glance = glanceAt(text);
      assert.deepEqual(launcherFormats.filter((other) => launchers[other].isIts(glance)), [format]); // prettier-ignore
    });

    it(`${format}: is read, with a place for every value that the file gives`, async () => {
      const launcher = (await loadReader(format, () => Promise.resolve(shell)))(file, text);
      assert.equal(launcher.format, format);
      const given = Object.values(launcher.facts).filter(({ source }) => source.kind === 'file');
      assert.ok(given.length > 3);
      for (const { name, source } of given) assert.ok(name !== undefined, JSON.stringify(source));
    });

    it(`${format}: is held to rules, offered to whoever names a file that none is, and opened by VS Code`, () => {
      assert.ok(
        rules.some(({ formats }) => formats.includes(format)),
        `no rule of src/core/rules/checks names ${format}`,
      );
      const unknown = unknownFormat('run.yaml', 'a: 1');
      assert.ok(unknown instanceof ExpectedError && say(unknown.remedy).includes(say(launchers[format].file)));
      const manifest = JSON.parse(readFileSync(path.join(root, 'package.json'), 'utf8')) as {
        readonly activationEvents: readonly string[];
      };
      for (const ending of launchers[format].endings) {
        assert.ok(configEndings.includes(ending));
        assert.ok(
          manifest.activationEvents.includes(`onLanguage:${languages[ending] ?? ending}`),
          `package.json starts with no file of .${ending}`,
        );
      }
    });
  }

  it('are edited by every folder that writes', async () => {
    const folder = path.join(root, 'src/core/launchers');
    const loaded = new Set<unknown>(editors.values());
    for (const name of readdirSync(folder).filter((each) => existsSync(path.join(folder, each, 'write.ts')))) {
      const written = Object.entries((await import(path.join(folder, name, 'write.ts'))) as Record<string, unknown>);
      const own = written.filter(([each]) => each.endsWith('Editor'));
      assert.ok(own.length > 0, `${name}/write.ts exports no editor`);
      for (const [each, editor] of own) assert.ok(loaded.has(editor), `${name}/index.ts does not load ${each}`);
    }
  });

  it('are offered as new files where their editor writes one', () => {
    for (const format of launcherFormats)
      assert.equal(launchers[format].exported === undefined, editors.get(format)?.newFile === undefined, format);
  });
});
