import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { checkAnswer } from '../../../src/cli/answers/check';
import { checkPaths } from '../../../src/cli/checked';
import { planAnswer } from '../../../src/cli/answers/plan';
import { defaults } from '../../../src/cli/common-options';
import { planNearby } from '../../../src/cli/planned';
import { readConfig, type ReadingOptions } from '../../../src/cli/read-config';
import type { Answer, PrintedFinding } from '../../../src/cli/answer';
import { say } from '../../../src/core/sentence';
import { noMachine, type Machine } from '../../../src/core/plan-request/machine';
import { shellReader } from '../core/launchers/shell/shell-reader';

const fixtures = path.join(import.meta.dirname, '../../fixtures/launchers');
const machines: readonly Partial<Machine>[] = [{}, { gpu: 'A100-40GB' }];

/** Codes with severities, sorted, and the exit status. */
function codesAndStatus({ json, exitCode }: { readonly json: object; readonly exitCode: number }): readonly (string | number)[] {
  const { findings } = json as { readonly findings: readonly PrintedFinding[] };
  return [exitCode, ...findings.map(({ code, severity }) => `${code} ${severity}`).sort()];
}

async function check(file: string, reading: ReadingOptions): Promise<Answer> {
  return checkAnswer(await checkPaths([file], reading, defaults, new Map()));
}

describe('terapipe check', () => {
  for (const name of ['nemo.yaml', 'gpt-neox.yml', 'verl.sh'])
    it(`finds in ${name} what plan finds, with the same exit status`, async () => {
      const file = path.join(fixtures, name);
      for (const machine of machines) {
        const reading = { sets: [], machine: { ...noMachine, ...machine }, shell: shellReader };
        const config = await readConfig({ file, text: readFileSync(file, 'utf8') }, reading, new Map());
        const planned = codesAndStatus(planAnswer(await planNearby(config, defaults, () => undefined), new Map()));
        assert.deepEqual(codesAndStatus(await check(file, reading)), planned);
      }
    });

  it('shows for a model whose sizes are elsewhere what plan refuses it with, once', async () => {
    const folder = mkdtempSync(path.join(tmpdir(), 'terapipe-check-'));
    const file = path.join(folder, 'overrides.yaml');
    const text = readFileSync(path.join(fixtures, 'megatron-bridge.yaml'), 'utf8').replace('Llama32ModelProvider1B', 'OursProvider');
    writeFileSync(file, text);
    const reading = { sets: [], machine: noMachine, shell: shellReader };
    const { noRun } = await readConfig({ file, text }, reading, new Map());
    assert.ok(noRun !== null);
    const { json, exitCode } = await check(file, reading);
    const { findings } = json as { readonly findings: readonly PrintedFinding[] };
    assert.equal(exitCode, 0);
    rmSync(folder, { recursive: true });
    const same = findings.filter(({ message }) => message === say(noRun.what));
    assert.deepEqual(
      same.map(({ code, severity }) => [code, severity]),
      [[noRun.code, 'information']],
    );
  });

  it('shows it next to errors of the same file', async () => {
    const folder = mkdtempSync(path.join(tmpdir(), 'terapipe-check-'));
    const file = path.join(folder, 'finetune.yaml');
    writeFileSync(
      file,
      'trainer:\n  devices: 1\n  num_nodes: 1\nmodel:\n  tensor_model_parallel_size: 2\n  micro_batch_size: 1\n  global_batch_size: 8\n  optim:\n    name: fused_adam\n',
    );
    const reading = { sets: [], machine: noMachine, shell: shellReader };
    const answer = await check(file, reading);
    rmSync(folder, { recursive: true });
    assert.deepEqual(codesAndStatus(answer), [1, 'model-not-planned information', 'world-size-factor error']);
  });
});
