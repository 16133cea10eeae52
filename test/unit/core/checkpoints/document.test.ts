import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { describe, it } from 'mocha';
import { deepspeedCheckpoints } from '../../../../src/core/checkpoints/deepspeed';
import { fsdpCheckpoints, replicatedCheckpoints } from '../../../../src/core/checkpoints/fsdp';
import type { CheckpointKind, CheckpointSettings } from '../../../../src/core/checkpoints/verdict';
import { layoutChange, type CheckpointLayout } from '../../../../src/core/checkpoints/layout';
import { bridgeCheckpoints, legacyCheckpoints, megatronCheckpoints } from '../../../../src/core/checkpoints/megatron';
import { nemoCheckpoints } from '../../../../src/core/checkpoints/nemo';
import { titanCheckpoints } from '../../../../src/core/checkpoints/torchtitan';

const page = readFileSync(resolve(import.meta.dirname, '../../../../docs/checkpoints.md'), 'utf8');

/** What a row of a table is about. */
interface Row {
  readonly kinds: readonly CheckpointKind[];
  readonly formats: readonly string[];
  readonly settings?: readonly Partial<CheckpointSettings>[];
  readonly zeroStages?: readonly number[];
}

const megatron = [megatronCheckpoints, bridgeCheckpoints];
const [sharded, whole] = [{ isSharded: true }, { isSharded: false }];
const reshardable = { ...sharded, isReshardable: true };

const weightRows: Readonly<Record<string, Row>> = {
  'Megatron-LM, Megatron-Bridge: `torch_dist`': { kinds: megatron, formats: ['torch_dist'] },
  'Megatron-LM: `torch`': {
    kinds: [megatronCheckpoints, legacyCheckpoints],
    formats: ['torch'],
    settings: [{ comparesArguments: true }, { comparesArguments: false }],
  },
  'Megatron FSDP: `fsdp_dtensor`': { kinds: megatron, formats: ['fsdp_dtensor'] },
  'Megatron-LM with PyTorch FSDP2: `torch_dcp`': { kinds: [megatronCheckpoints], formats: ['torch_dcp'] },
  'NeMo 1.x with `mcore_gpt`': { kinds: [nemoCheckpoints], formats: ['zarr', 'torch_dist'] },
  'NeMo 1.x without': { kinds: [nemoCheckpoints], formats: ['torch'] },
  'TorchTitan: DCP': { kinds: [titanCheckpoints], formats: ['DCP'] },
  'DeepSpeed: plain': { kinds: [deepspeedCheckpoints], formats: ['plain'], zeroStages: [0, 1, 2, 3] },
  'DeepSpeed: universal': { kinds: [deepspeedCheckpoints], formats: ['universal'], zeroStages: [0, 1, 2] },
  'FSDP: `SHARDED_STATE_DICT`, `FULL_STATE_DICT`': { kinds: [fsdpCheckpoints], formats: ['SHARDED_STATE_DICT', 'FULL_STATE_DICT'] },
  'FSDP: `LOCAL_STATE_DICT`': { kinds: [fsdpCheckpoints], formats: ['LOCAL_STATE_DICT'] },
  DDP: { kinds: [replicatedCheckpoints], formats: ['PyTorch'] },
};

const optimizerRows: Readonly<Record<string, Row>> = {
  '`torch_dist`, optimizer not distributed': { kinds: megatron, formats: ['torch_dist'], settings: [whole] },
  '`torch_dist`, distributed, by default (`dp_reshardable`)': { kinds: megatron, formats: ['torch_dist'], settings: [sharded] },
  '`torch_dist`, distributed, with `--dist-ckpt-optim-fully-reshardable`': {
    kinds: megatron,
    formats: ['torch_dist'],
    settings: [reshardable],
  },
  '`torch`': { kinds: [megatronCheckpoints, legacyCheckpoints], formats: ['torch'], settings: [sharded, whole] },
  '`fsdp_dtensor`': { kinds: megatron, formats: ['fsdp_dtensor'] },
  '`torch_dcp`': { kinds: [megatronCheckpoints], formats: ['torch_dcp'] },
  'NeMo 1.x with `mcore_gpt`': { kinds: [nemoCheckpoints], formats: ['zarr', 'torch_dist'], settings: [whole, reshardable] },
  'the same with `dist_ckpt_parallel_dist_opt: false`': { kinds: [nemoCheckpoints], formats: ['zarr', 'torch_dist'], settings: [sharded] },
  'NeMo 1.x without': { kinds: [nemoCheckpoints], formats: ['torch'] },
  TorchTitan: { kinds: [titanCheckpoints], formats: ['DCP'] },
  'DeepSpeed, plain, without ZeRO': { kinds: [deepspeedCheckpoints], formats: ['plain'], settings: [whole], zeroStages: [0] },
  'DeepSpeed, plain, ZeRO 1 to 3': { kinds: [deepspeedCheckpoints], formats: ['plain'], settings: [sharded], zeroStages: [1, 2, 3] },
  'DeepSpeed, universal, without ZeRO 3': { kinds: [deepspeedCheckpoints], formats: ['universal'], zeroStages: [0, 1, 2] },
  'DeepSpeed, universal, ZeRO 3': { kinds: [deepspeedCheckpoints], formats: ['universal'], zeroStages: [3] },
  'FSDP: `SHARDED_STATE_DICT`, `FULL_STATE_DICT`': { kinds: [fsdpCheckpoints], formats: ['SHARDED_STATE_DICT', 'FULL_STATE_DICT'] },
  'FSDP: `LOCAL_STATE_DICT`': { kinds: [fsdpCheckpoints], formats: ['LOCAL_STATE_DICT'] },
  DDP: { kinds: [replicatedCheckpoints], formats: ['PyTorch'] },
};

const columns: Readonly<Record<string, readonly (keyof CheckpointLayout)[]>> = {
  tensor: ['tensor'],
  pipeline: ['pipeline'],
  'virtual stages': ['virtualStages'],
  'other layers in stages': ['stageLayers'],
  experts: ['expert'],
  data: ['data'],
  context: ['context'],
  'data, context': ['data', 'context'],
};

const one: CheckpointLayout = {
  tensor: 1,
  pipeline: 1,
  virtualStages: 1,
  stageLayers: null,
  data: 1,
  context: 1,
  expert: 1,
  expertTensor: null,
  zeroStage: null,
  optimizer: 'adam',
};

const plain: CheckpointSettings = {
  format: '',
  loadsOptimizer: true,
  loadsDataPosition: true,
  comparesArguments: true,
  isReshardable: false,
  isSharded: true,
};

/** All outcomes of a part where one size changes, more or less of it. */
function outcomes({ kinds, formats, settings = [{}], zeroStages }: Row, part: 'weights' | 'optimizer', name: keyof CheckpointLayout) {
  const values = name === 'stageLayers' ? [null, [4, 4, 3, 5]] : [1, 2, 4, 8];
  const pairs = values.flatMap((from) => values.filter((to) => to !== from).map((to) => [from, to]));
  const bases = zeroStages?.map((zeroStage) => ({ ...one, zeroStage })) ?? [one];
  const judged = kinds.flatMap((kind) =>
    formats.flatMap((format) =>
      settings.flatMap((more) =>
        bases.flatMap((base) =>
          pairs.map(([from, to]) => {
            const change = layoutChange({ ...base, [name]: from }, { ...base, [name]: to });
            return kind.judge({ ...plain, ...more, format }, change)?.[part]?.outcome ?? 'none';
          }),
        ),
      ),
    ),
  );
  return [...new Set(judged)].toSorted();
}

/** The outcomes that a cell names. */
function namedOutcomes(cell: string): string[] {
  const found = cell.match(/\b(?:loads|stops|initialises|not known)\b/g) ?? [];
  return [...new Set(found.map((word) => (word === 'not known' ? 'unknown' : word)))].toSorted();
}

function cellsOf(line: string): string[] {
  const cells = line.split('|').slice(1, -1);
  return cells.map((cell) => cell.trim());
}

/** The rows of the table that follows a text, by their first cell. */
function tableAfter(start: string): { readonly header: readonly string[]; readonly rows: ReadonlyMap<string, readonly string[]> } {
  const lines = page.slice(page.indexOf(start)).split('\n');
  const from = lines.findIndex((line) => line.startsWith('|'));
  const to = lines.findIndex((line, index) => index > from && !line.startsWith('|'));
  const cells = lines.slice(from, to).map(cellsOf);
  const [[, ...header] = [], , ...rows] = cells;
  return { header, rows: new Map(rows.map(([label = '', ...others]) => [label, others])) };
}

describe('the page of checkpoints', () => {
  for (const [start, part, wanted] of [
    ['**Weights.**', 'weights', weightRows],
    ['**Optimizer state**', 'optimizer', optimizerRows],
  ] as const)
    it(`gives the outcomes of the code for ${part}; a size that a launcher does not have is empty`, () => {
      const { header, rows } = tableAfter(start);
      assert.deepEqual([...rows.keys()], Object.keys(wanted));
      for (const [label, row] of Object.entries(wanted))
        header.forEach((column, index) => {
          const cell = rows.get(label)?.[index] ?? '';
          if (cell === '') return;
          const found = new Set((columns[column] ?? []).flatMap((name) => outcomes(row, part, name)));
          assert.deepEqual(namedOutcomes(cell), [...found].toSorted(), `${label}: ${column}`);
        });
    });
});
