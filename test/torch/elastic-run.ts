// `node --import tsx test/torch/elastic-run.ts FILE`: elastic.json of a tiny Llama that freezes, planned as `terapipe export` does.
import { writeFileSync } from 'node:fs';
import { loadConfig } from '../../src/core/config-files/load-config';
import { presetNamed } from '../../src/core/terapipe/cluster-section';
import { planElastic } from '../../src/features/elastic/core/make-plan';
import { resolveElastic } from '../../src/features/elastic/core/resolve';
import { elasticRunFolder } from '../../src/features/elastic/core/torch-run';

const config = {
  model: { layers: 6, hidden: 32, heads: 4, kvHeads: 2, ffn: 48, vocab: 64, positions: 'rotary', norm: 'rmsnorm', tiedEmbeddings: false },
  cluster: { gpu: 'L40S', nodes: 1, gpusPerNode: 4 },
  training: { sequenceLength: 12, precision: 'fp32', attention: 'unfused', dropout: false },
  elastic: {
    epochs: 3,
    datasetSize: 20,
    batch: 8,
    batchScaling: 'kept',
    alpha: 0.4,
    pipelineLength: 4,
    microBatches: 4,
    schedule: '1F1B',
    tokenSlices: 2,
    balance: 'parameters',
  },
};

async function write(file: string | undefined): Promise<void> {
  const gpu = presetNamed('L40S');
  const none = () => Promise.reject(new Error('it refers to nothing'));
  const { run } = await loadConfig('terapipe.json', JSON.stringify(config), { read: none, shell: none });
  if (file === undefined || run === null || typeof gpu !== 'string') throw new Error('give a file');
  const { files } = elasticRunFolder(planElastic(resolveElastic(run, { gpu, nodes: null, gpusPerNode: null }, null)));
  writeFileSync(file, files.get('elastic.json') ?? '');
}

void write(process.argv[2]);
