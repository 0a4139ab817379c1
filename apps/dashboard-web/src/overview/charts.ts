/** The charts of the overview, which load together with their library. */
export { CompletionTimeChart, OutcomesChart, SuccessRateChart } from './rail-charts.js';
export { ReturnsChart } from './returns-chart.js';
export { VolumeChart } from './volume-chart.js';
