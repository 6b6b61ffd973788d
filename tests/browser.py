"""A headless Chromium that looks at pages, and what makes a page fail: text that is cut off, or hard to read."""

import shutil
from typing import Literal

import pytest

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
needs_chromium = pytest.mark.skipif(CHROMIUM is None, reason="Chromium is not installed (apt-get install chromium)")

NOBODY = "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1"
Scheme = Literal["light", "dark"]

# texts of pictures that reach beyond their picture or over each other, and elements whose text is cut off
CLIPPED = """
const wrong=[];
for(const svg of document.querySelectorAll('svg')){
  const box=svg.getBoundingClientRect(), texts=[...svg.querySelectorAll('text')].map(t=>[t,t.getBoundingClientRect()]);
  for(const [t,r] of texts){
    if(r.left<box.left-1||r.right>box.right+1||r.top<box.top-1||r.bottom>box.bottom+1)
      wrong.push('outside: '+t.textContent);
    for(const [u,s] of texts) if(t!==u&&r.left<s.right-1&&s.left<r.right-1&&r.top<s.bottom-2&&s.top<r.bottom-2)
      wrong.push('over each other: '+t.textContent+' / '+u.textContent);
  }
}
for(const e of document.querySelectorAll('body *:not(svg *):not(caption)'))
  if(e.scrollWidth>e.clientWidth+1&&e.clientWidth>0) wrong.push('cut: '+e.tagName+' '+e.textContent.slice(0,60));
for(const e of document.querySelectorAll('body *:not(caption)')){
  const r=e.getBoundingClientRect();
  if(r.width>1&&(r.right>innerWidth+1||r.left<-1))
    wrong.push('out of the window: '+e.tagName+' '+e.textContent.slice(0,60));
}
if(document.documentElement.scrollWidth>innerWidth+1) wrong.push('wider than the window');
return wrong;
"""
# how light a colour is, as WCAG counts it
LIGHT = """
const parts=c=>c.match(/[\\d.]+/g).map(Number);
const light=c=>{const [r,g,b]=parts(c).map(v=>{v/=255;return v<=.03928?v/12.92:((v+.055)/1.055)**2.4});
  return .2126*r+.7152*g+.0722*b};
const apart=(c,d)=>(Math.max(light(c),light(d))+.05)/(Math.min(light(c),light(d))+.05);
"""
# contrast of every text with what is behind it; 4.5 is what WCAG asks for
CONTRAST = (
    LIGHT
    + """
const behind=e=>{for(;e;e=e.parentElement){const c=getComputedStyle(e).backgroundColor,p=parts(c);
  if(p.length===3||p[3]>0) return c} return 'rgb(255,255,255)'};
const wrong=[], boxes='h1,h2,h3,p,th,td,summary,blockquote,label,button,textarea,svg text';
for(const e of document.querySelectorAll(boxes+',a,b,small,cite,mark,code,span')){
  const s=getComputedStyle(e), ratio=apart(e.tagName==='text'?s.fill:s.color,behind(e));
  if(ratio<4.5) wrong.push(e.tagName+' '+ratio.toFixed(1)+' '+e.textContent.slice(0,40));
}
return {wrong, dark: light(getComputedStyle(document.body).backgroundColor)<.2};
"""
)
