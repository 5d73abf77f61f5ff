// Draws the charts of a report of osora: reads the page's data, makes one ECharts instance for each
// figure, and draws again for another width, colour scheme or for paper. Text from outside only
// reaches text nodes (SVG, rich text), never markup.
import {CustomChart, HeatmapChart, LineChart, ScatterChart} from 'echarts/charts';
import {DataZoomSliderComponent, GridComponent, LegendPlainComponent, MarkAreaComponent,
        MarkLineComponent, TooltipComponent, VisualMapContinuousComponent} from 'echarts/components';
import {connect, init, use} from 'echarts/core';
import {SVGRenderer} from 'echarts/renderers';

import {DARK, LIGHT, PAPER} from './look.js';
import {pairs, rankWork} from './matrices.js';
import {efficiency, runs, throughput} from './scaling.js';
import {lines, stack, steps} from './steps.js';

use([CustomChart, HeatmapChart, LineChart, ScatterChart, DataZoomSliderComponent, GridComponent,
     LegendPlainComponent, MarkAreaComponent, MarkLineComponent, TooltipComponent,
     VisualMapContinuousComponent, SVGRenderer]);

const PAPER_WIDTH = 680;  // pixels between the margins of A4
const MAKERS = {efficiency, lines, pairs, rankWork, runs, stack, steps, throughput};
const dark = window.matchMedia('(prefers-color-scheme: dark)');
const drawn = [];

function draw(look, width) {
    for (const {chart, plot, data} of drawn) {
        const room = width || plot.clientWidth;
        const height = data.square ? Math.min(760, Math.max(300, room)) : data.height;
        plot.style.height = `${height}px`;
        chart.resize({width: room, height, silent: true});
        chart.setOption(MAKERS[data.kind](data, look, room), {notMerge: true});
        chart.getZr().flush();
    }
}

function redraw() {
    draw(dark.matches ? DARK : LIGHT);
}

function start() {
    document.documentElement.classList.add('drawn');
    const page = JSON.parse(document.getElementById('report-data').textContent);
    for (const data of page.charts) {
        const plot = document.querySelector(`#chart-${data.id} .plot`);
        const chart = init(plot, null, {renderer: 'svg', width: plot.clientWidth, height: 300});
        if (data.group) chart.group = data.group;
        drawn.push({chart, plot, data});
    }
    connect('steps');
    redraw();
    document.documentElement.dataset.charts = String(drawn.length);
}

let timer = 0;
window.addEventListener('resize', () => {
    clearTimeout(timer);
    timer = setTimeout(redraw, 100);
});
dark.addEventListener('change', redraw);
window.addEventListener('beforeprint', () => draw(PAPER, PAPER_WIDTH));
window.addEventListener('afterprint', redraw);
start();
