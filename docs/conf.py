"""The site: `make docs` builds it from these pages, the docstrings and the examples."""

import os
import sys
from pathlib import Path

import greville

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE / "_ext"))
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # a process for each core runs examples

# The address of the repository, such as "https://example.org/greville". Where it is empty, links
# to files of the repository lead to copies of them.
repository = ""

project = "greville"
author = "The greville developers"
copyright = author
version = release = greville.__version__

extensions = [
    "myst_parser",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx_copybutton",
    "sphinx_design",
    "sphinx_gallery.gen_gallery",
    "anchors",
    "code_names",
    "mathml",
    "own_members",
    "repository_links",
]
nitpicky = True
# Types in docstrings are sentences for people, such as "array-like of shape (n_samples,)".
nitpick_ignore_regex = [(r"py:(class|obj|attr|meth|mod|func|exc|data)", r".*")]
exclude_patterns = ["_ext", "_templates", "reproduction/README.md", "gallery/GALLERY_HEADER.*"]
templates_path = ["_templates"]
smartquotes = False  # H'H and "auto" stay as they are written
default_role = "py:obj"

# Markdown
myst_enable_extensions = ["attrs_inline", "colon_fence", "deflist", "dollarmath"]
myst_fence_as_directive = ["math"]
myst_heading_anchors = 4
repository_pages = {
    "README.md": "index",
    "CONTRIBUTING.md": "contributing",
    "CHANGELOG.md": "changelog",
    "examples/README.md": "example-data",
}

# The reference
autosummary_generate = [str(path) for path in sorted(HERE.glob("api/*.rst"))]
autosummary_ignore_module_all = False
autodoc_mock_imports = ["aeon"]  # in no extra: it needs an older numba
autodoc_typehints = "none"
autodoc_member_order = "groupwise"
numpydoc_show_class_members = False
numpydoc_class_members_toctree = False
numpydoc_attributes_as_param_list = True

# What was made of an example that is no more
for page in HERE.glob("gallery/plot_*.rst"):
    if not (HERE.parent / "examples" / page.with_suffix(".py").name).exists():
        page.unlink()

# The gallery: it runs the examples, and an error in one of them is an error of the build.
sphinx_gallery_conf = {
    "examples_dirs": ["../examples"],
    "gallery_dirs": ["gallery"],
    "filename_pattern": r"/plot_",
    "ignore_pattern": r"make_data|/serve/|__init__",
    "copyfile_regex": r"(?!)",
    "abort_on_example_error": True,
    "backreferences_dir": "api/examples",
    "doc_module": ("greville",),
    "download_all_examples": False,
    "first_notebook_cell": None,
    "inspect_global_variables": False,
    "line_numbers": False,
    "matplotlib_animations": False,
    "min_reported_time": 10_000,
    "nested_sections": False,
    "parallel": True,  # as many as sphinx -j says
    "plot_gallery": "True",
    "remove_config_comments": True,
    "show_memory": False,
    "show_signature": False,
    "thumbnail_size": (400, 280),
    "write_computation_times": False,
}

# Appearance: nothing is asked of another server.
html_theme = "pydata_sphinx_theme"
html_title = "greville"
html_math_renderer = "mathml"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_logo = "_static/logo.svg"
html_favicon = "_static/logo.svg"
html_copy_source = False
html_show_sourcelink = False
html_show_sphinx = False
html_last_updated_fmt = None
html_context = {"default_mode": "auto"}
html_theme_options = {
    "logo": {"text": "greville", "alt_text": "greville: start page"},
    "header_links_before_dropdown": 7,
    "navigation_with_keys": False,
    "show_prev_next": True,
    "secondary_sidebar_items": ["page-toc"],
    "footer_start": ["copyright"],
    "footer_end": [],
    "navbar_align": "left",
    "pygments_light_style": "a11y-high-contrast-light",
    "pygments_dark_style": "a11y-high-contrast-dark",
    "show_toc_level": 2,
}
html_sidebars = {"index": [], "tutorial": [], "changelog": [], "gallery/index": []}
if repository:
    html_theme_options["icon_links"] = [
        {"name": "Source code", "url": repository, "icon": "fa-solid fa-code-branch"}
    ]

copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True
copybutton_exclude = ".linenos, .gp, .go"
