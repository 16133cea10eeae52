import type { Layout } from './request';

type Sizes = Pick<Layout, 'tensor' | 'pipeline' | 'data' | 'context' | 'expert' | 'expertTensor'>;

/** `TP2 PP8 DP8`, with context and expert parallelism where there are any. */
export function sizesText({ tensor, pipeline, data, context, expert, expertTensor = tensor }: Sizes): string {
  const others = [
    ...(context > 1 ? [`CP${context}`] : []),
    ...(expert > 1 ? [`EP${expert}`] : []),
    ...(expertTensor === tensor ? [] : [`ETP${expertTensor}`]),
  ];
  return [`TP${tensor}`, `PP${pipeline}`, `DP${data}`, ...others].join(' ');
}
