# title: fills a template
# packages: jinja2
# expect: ok
# check: result == "Dear Ann,\n- lamp\n- desk"
# agent: refuse
from jinja2 import Template

template = Template("Dear {{ name }},{% for item in items %}\n- {{ item }}{% endfor %}")
result = template.render(name="Ann", items=["lamp", "desk"])
