import type { Finding } from '../../findings';
import { count } from '../../languages/reads';
import type { Facts } from '../../run/facts';
import { counted, sentence } from '../../sentence';
import { sizeUnlessOpen } from '../tables/reads';
import type { FindSetting } from './find-setting';

/**
 * @finding maxtext-stages
 * MaxText: "The number of layers per stage times the number of stages must divide the number of pipeline_parallel_layers", and with
 * `num_pipeline_repeats` the product of the three must be equal to it. It stops before it trains. Choose a number of stages
 * (`ici_pipeline_parallelism` times `dcn_pipeline_parallelism`) and `num_layers_per_pipeline_stage` that divide the layers; of DeepSeek's
 * block those with experts.
 * @example a model of 16 layers with `ici_pipeline_parallelism: 3`. "16 layers are not 3 stages of 1 layer, repeated"
 * @source AI-Hypercomputer/maxtext at e591f30c, src/maxtext/configs/types.py 3575 to 3604.
 * @ignore never: MaxText asserts it.
 */
export function stageFindings(find: FindSetting, block: string, facts: Facts): readonly Finding[] {
  const { pipeline, layers, firstDenseLayers } = facts;
  if (pipeline === undefined || layers === undefined || pipeline.value === 1) return [];
  const dense = block === 'deepseek' ? (firstDenseLayers?.value ?? 0) : 0;
  const inside = find('pipeline_parallel_layers', sizeUnlessOpen)?.value ?? layers.value - dense;
  const each = find('num_layers_per_pipeline_stage', count(1))?.value ?? 1;
  const repeats = find('num_pipeline_repeats', sizeUnlessOpen)?.value;
  const product = pipeline.value * each;
  const fits = repeats === undefined ? inside % product === 0 : product * repeats === inside;
  const source = [pipeline.source, layers.source].find(({ kind }) => kind === 'file');
  if (fits || source?.kind !== 'file') return [];
  const stages = sentence`${counted(pipeline.value, 'stage')} of ${counted(each, 'layer')}`;
  return [
    {
      code: 'maxtext-stages',
      severity: 'error',
      place: source.place,
      message:
        repeats === undefined
          ? sentence`${counted(inside, 'layer')} are not ${stages}, repeated`
          : sentence`${counted(inside, 'layer')} are not ${stages}, ${repeats} times`,
      remedy: sentence`choose stages and num_layers_per_pipeline_stage whose product divides the layers`,
      fixes: [],
    },
  ];
}
