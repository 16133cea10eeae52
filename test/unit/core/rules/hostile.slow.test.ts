import assert from 'node:assert/strict';
import fc from 'fast-check';
import { describe, it } from 'mocha';
import type { FactName } from '../../../../src/core/run/facts';
import { launcherFormats } from '../../../../src/core/launchers/registry';
import { crossFindings } from '../../../../src/core/rules/launchers/cross-findings';
import { launchFindings } from '../../../../src/core/rules/launch-findings';
import { applied, launcherOf, withDefault, type Values } from './launcher';
import { say } from '../../../../src/core/sentence';

const size = fc.constantFrom(1, 2, 3, 4, 6, 8, 12, 16, 24, 30, 48, 64);
const odd = fc.constantFrom(0, -1, -8, 0.5, 1e9, 999_999_937, 1e15, Number.MAX_SAFE_INTEGER, 1e308, 5e-324);
const count = fc.oneof({ weight: 9, arbitrary: size }, { weight: 1, arbitrary: odd });
const length = fc.oneof(fc.constantFrom(1000, 2048, 4096, 32_768, 131_072, 50_257), count);
const word = fc.constantFrom('', 'none', 'selective', 'full', 'block', 'uniform', 'flash', 'a2a', '1F1B', 'Interleaved1F1B', '\u202E"', '0:16', '([0]*3+[1]*11)'); // prettier-ignore

const counts = [
  'layers',
  'heads',
  'kvHeads',
  'experts',
  'activeExperts',
  'tensor',
  'pipeline',
  'data',
  'context',
  'expert',
  'expertTensor',
  'virtualStages',
  'layersPerVirtualStage',
  'layersPerStage',
  'totalStages',
  'firstStageLayers',
  'lastStageLayers',
  'firstStageLessLayers',
  'lastStageLessLayers',
  'dataReplicate',
  'dataShard',
  'microBatch',
  'globalBatch',
  'localBatch',
  'gradientAccumulation',
  'zeroStage',
  'recomputeLayers',
  'nodes',
  'gpusPerNode',
  'world',
  'microBatches',
] as FactName[];
const lengths = ['hidden', 'headDim', 'ffn', 'expertFfn', 'vocab', 'vocabDivisor', 'sequenceLength', 'maxPositions'] as FactName[];
const words = ['recomputeGranularity', 'recomputeMethod', 'attention', 'schedule', 'partitionMethod', 'contextCommunication', 'batchSchedule', 'moeLayerFrequency'] as FactName[]; // prettier-ignore
const switches = ['sequenceParallel', 'overlapP2p', 'cpuOffloading', 'variableSequenceLengths', 'latentAttention', 'embeddingAsLayer', 'lossAsLayer', 'gatedMlp'] as FactName[]; // prettier-ignore
const formats = launcherFormats;

const valuesOf = (names: readonly FactName[], value: fc.Arbitrary<unknown>) =>
  fc.record(Object.fromEntries(names.map((name) => [name, value])), { requiredKeys: [] });
const values = fc
  .tuple(
    valuesOf(counts, count),
    valuesOf(lengths, length),
    valuesOf(words, word),
    valuesOf(['precision', 'secondPrecision'], fc.constantFrom('fp16', 'bf16')),
    valuesOf(switches, fc.boolean()),
  )
  .map((parts) => Object.assign({}, ...parts) as Values);

describe('launch findings of any facts', () => {
  it('are made without a crash, at a place of the file, and each of their fixes removes them', () => {
    fc.assert(
      fc.property(values, fc.constantFrom(...formats), (facts, format) => {
        const launcher = launcherOf(facts, format);
        for (const finding of launchFindings(launcher)) {
          assert.ok(finding.place.range.end <= launcher.text.length);
          assert.ok(
            !/NaN|Infinity|undefined|–| {2}|\p{Cc}|\u202E/u.test(say(finding.message) + say(finding.remedy)),
            say(finding.message) + say(finding.remedy),
          );
          for (const fix of finding.fixes) {
            const left = launchFindings(applied(launcher, fix)).filter(({ code }) => code === finding.code);
            assert.deepEqual(left.filter(({ message }) => say(message) === say(finding.message)), [], `${finding.code}: ${say(fix.title)}`); // prettier-ignore
            assert.deepEqual(left, [], `${finding.code}: ${say(fix.title)} in ${launcher.text}`);
          }
        }
      }),
      { seed: 5, numRuns: 400 },
    );
  });

  it('never are at a default', () => {
    fc.assert(
      fc.property(values, fc.constantFrom(...formats), (facts, format) => {
        const launcher = launcherOf(facts, format);
        const all = Object.keys(facts).reduce((left, name) => withDefault(left, name as FactName), launcher);
        for (const { place, severity, fixes } of launchFindings(all)) {
          assert.deepEqual(place, launcher.place);
          assert.notEqual(severity, 'information');
          assert.deepEqual(fixes, []);
        }
      }),
      { seed: 6, numRuns: 300 },
    );
  });

  it('compare any two files', () => {
    fc.assert(
      fc.property(values, values, (a, b) => {
        for (const { place } of crossFindings(launcherOf(a, 'nemo'), launcherOf(b, 'nemo', 'b'))) assert.equal(place.file, 'launcher');
      }),
      { seed: 7, numRuns: 300 },
    );
  });
});
