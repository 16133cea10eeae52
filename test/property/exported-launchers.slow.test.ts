import assert from 'node:assert/strict';
import { existsSync, readFileSync, readdirSync } from 'node:fs';
import path from 'node:path';
import fc from 'fast-check';
import { readDeepSpeed } from '../../src/core/launchers/deepspeed/reader';
import type { LauncherReader } from '../../src/core/run/facts';
import { loadRun } from '../load-run';
import { readTorchTitan } from '../../src/core/launchers/torchtitan/reader';
import { yamlReaders } from '../unit/core/launchers/tables/yaml-readers';
import { ExpectedError } from '../../src/core/errors';
import { editLauncher } from '../../src/core/export/launchers/edit-launcher';
import { withChosen } from '../../src/core/planner/candidates/virtual-stages';
import { plannedStep, type PlannedStep } from '../../src/core/export/launchers/launch-settings';
import { checkedNewLauncher } from '../../src/core/export/launchers/new-launcher';
import { editable, writerOf, type WrittenFormat } from '../unit/core/export/launchers/editors';

import { makePlan } from '../../src/core/planner/make-plan';
import type { Plan } from '../../src/core/planner/plan';
import { resolveRun } from '../../src/core/plan-request/resolve';
import { shellReader } from '../unit/core/launchers/shell/shell-reader';
import { cases } from './cases';
import { drawnRuns, requestOfDrawn, type Drawn } from './random-runs';

const samples = path.join(import.meta.dirname, '../../media/samples');

describe("a launcher's file, checked and planned again before it is offered", () => {
  let readers: Readonly<Record<WrittenFormat, LauncherReader>>;

  before(async () => {
    readers = {
      'megatron-shell': await shellReader(),
      'megatron-bridge': yamlReaders['megatron-bridge'],
      torchtitan: readTorchTitan,
      deepspeed: readDeepSpeed,
    };
  });

  const formats: readonly WrittenFormat[] = ['megatron-shell', 'megatron-bridge', 'torchtitan', 'deepspeed'];

  /** Every candidate of a plan, written for every launcher. */
  function writeAll(plan: Plan): void {
    for (const candidate of plan.candidates)
      for (const format of formats) checkedNewLauncher(plannedStep(withChosen(plan, candidate)), writerOf(format), readers[format]);
  }

  /** A run that some launcher can have: heads to exchange, and a layer that stays on the GPU. */
  function launched(drawn: Drawn): Drawn {
    const isShared = (drawn.width / 64 / drawn.tensor) % drawn.context === 0;
    const { contextParallelComm, activationOffloadLayers } = drawn.training;
    return {
      ...drawn,
      training: {
        ...drawn.training,
        contextParallelComm: isShared && contextParallelComm === 'all-to-all' ? contextParallelComm : 'ring',
        activationOffloadLayers: drawn.layersPerStage > 1 ? (activationOffloadLayers ?? 0) : 0,
      },
    };
  }

  function planOf(drawn: Drawn): Plan | null {
    try {
      return makePlan(requestOfDrawn(launched(drawn)));
    } catch (error) {
      if (error instanceof ExpectedError) return null;
      throw error;
    }
  }

  it('is as planned for every candidate of any plan, or names what it cannot express', () => {
    let written = 0;
    fc.assert(
      fc.property(drawnRuns, (drawn) => {
        const plan = planOf(drawn);
        if (plan === null) return;
        writeAll(plan);
        written += 1;
      }),
      { seed: 15, numRuns: cases(12, 2000) },
    );
    assert.ok(written > 7, `${written} plans`);
  });

  it('is as planned where it is changed from one plan to another of the same model', () => {
    let edited = 0;
    fc.assert(
      fc.property(drawnRuns, drawnRuns, (one, other) => {
        const { architecture, width, vocab, gpu, layersPerStage, moreLayers, pipeline, virtualStages } = one;
        const before = planOf(one);
        const after = planOf({ ...other, architecture, width, vocab, gpu, layersPerStage, moreLayers, pipeline, virtualStages });
        if (before === null || after === null) return;
        for (const format of formats) {
          const { fileName, text } = checkedNewLauncher(plannedStep(before), writerOf(format), readers[format]);
          editLauncher(plannedStep(after), editable(readers[format](fileName, text), readers[format]));
          edited += 1;
        }
      }),
      { seed: 16, numRuns: cases(8, 1000) },
    );
    assert.ok(edited > 15, `${edited} files`);
  });

  it('is as planned for every sample', async () => {
    let written = 0;
    for (const folder of readdirSync(samples, { withFileTypes: true }).filter((entry) => entry.isDirectory())) {
      const file = path.join(samples, folder.name, 'terapipe.json');
      // the settings of TeraPipe's paper are several files in one folder
      if (!existsSync(file)) continue;
      const run = await loadRun(file, readFileSync(file, 'utf8'), async (from, name) => {
        const found = path.resolve(path.dirname(from), name);
        return Promise.resolve({ file: found, text: readFileSync(found, 'utf8') });
      });
      if (run.unplanned !== undefined || run.elastic !== undefined) continue;
      const plan = makePlan(resolveRun(run, { gpu: 'H100-80GB', nodes: null, gpusPerNode: null }));
      if (run.groups !== undefined) assert.throws(() => plannedStep(plan), { code: 'export-groups' });
      else {
        writeAll(plan);
        written += 1;
      }
    }
    assert.equal(written, 4);
  });

  describe('is refused', () => {
    let step: PlannedStep;

    before(() => {
      const [drawn] = fc.sample(drawnRuns, { seed: 1, numRuns: 1 });
      const sizes = {
        architecture: 'llama',
        tensor: 2,
        pipeline: 4,
        data: 2,
        context: 1,
        virtualStages: 1,
        moreLayers: 0,
        schedule: '1F1B',
      } as const;
      step = plannedStep(planOf({ ...drawn!, ...sizes, microBatch: 2, microBatches: 8, training: { ...drawn!.training, zeroStage: 1 } })!);
    });

    const refusal = (change: (text: string) => string, of = step, format: WrittenFormat = 'megatron-shell'): string => {
      try {
        checkedNewLauncher(of, writerOf(format), (file, text) => readers[format](file, change(text)));
      } catch (error) {
        if (error instanceof ExpectedError && error.code === 'export-unsound') return error.message;
        throw error;
      }
      return 'written';
    };

    it('where it does not give what it should, by name', () => {
      assert.equal(
        refusal((text) => text),
        'written',
      );
      assert.match(refusal((text) => text.replace('--micro-batch-size 2', '--micro-batch-size 1')), /the plan has micro-batch size 2, and the file does not/); // prettier-ignore
      assert.match(
        refusal((text) => text.replace(/--nodes=(\d+)/, (_, nodes) => `--nodes=${2 * Number(nodes)}`)),
        /so that data parallelism is 2, and the file does not/,
      );
      assert.match(
        refusal((text) => text.replace(/(degree = )2/, '$14'), step, 'torchtitan'),
        /tensor parallel size 2/,
      );
    });

    it('where our own check finds it wrong', () => {
      assert.match(
        refusal((text) => text.replace(/(--num-attention-heads) \d+/, '$1 7')),
        /\[heads-tp\]/,
      );
    });

    it('where its step takes another time, though its layout is the same', () => {
      assert.match(
        refusal((text) => text.replace(/--ffn-hidden-size (\d+)/, '--ffn-hidden-size 10$1')),
        /a step takes .* as planned and .* as the file is written/,
      );
      assert.match(
        refusal((text) => text, { ...step, iterationMs: step.iterationMs * (1 + 1e-6) }),
        /a step takes/,
      );
    });
  });
});
